// Which blocks of queries and keys a mask lets see each other.
// build: -Os
#include <tapegrad/autograd/block_mask.h>

#include <fmt/format.h>
#include <tapegrad/autograd/detail/pieces.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/parallel.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tapegrad {

BlockMask block_mask(MaskMod mask_mod, int64_t queries, int64_t keys, const BlockMaskOptions& options) {
  if (!mask_mod) fail("block_mask", "expected a mask_mod, got an empty one");
  if (queries < 0 || keys < 0 || options.batch < 0 || options.heads < 0) {
    fail("block_mask", fmt::format("expected sizes >= 0, got {} queries, {} keys, batch {}, {} heads", queries, keys,
                                   options.batch, options.heads));
  }
  constexpr int64_t kRows = BlockMask::kQueries, kColumns = BlockMask::kKeys;
  checked_numel("block_mask", {options.batch, options.heads, queries / kRows + 1, keys / kColumns + 1});
  const int64_t down = pieces_of(queries, kRows), across = pieces_of(keys, kColumns);
  const int64_t rows = options.batch * options.heads * down;
  const std::shared_ptr<BlockMask::Block[]> blocks(new BlockMask::Block[static_cast<std::size_t>(rows * across)]);
  parallel_for(rows, 1, [&](int64_t begin, int64_t end) {
    bool allowed[kRows * kColumns];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % down * kRows, head = i / down;
      for (int64_t j = 0; j < across; ++j) {
        const flex::Cells<bool> cells{.batch = head / options.heads,
                                      .head = head % options.heads,
                                      .first_query = first,
                                      .rows = std::min(kRows, queries - first),
                                      .first_key = j * kColumns,
                                      .columns = std::min(kColumns, keys - j * kColumns),
                                      .scores = allowed,
                                      .slopes = nullptr,
                                      .stride = kColumns};
        const int64_t count = mask_mod(cells);
        blocks[static_cast<std::ptrdiff_t>(i * across + j)] = count == 0 ? BlockMask::Block::none
                                                              : count == cells.rows * cells.columns
                                                                  ? BlockMask::Block::all
                                                                  : BlockMask::Block::some;
      }
    }
  });
  BlockMask mask;
  mask.mask_mod_ = std::move(mask_mod);
  mask.queries_ = queries;
  mask.keys_ = keys;
  mask.options_ = options;
  mask.blocks_ = blocks;
  return mask;
}

BlockMask::Block BlockMask::block(int64_t b, int64_t h, int64_t query_block, int64_t key_block) const {
  const int64_t head = (options_.batch == 1 ? 0 : b) * options_.heads + (options_.heads == 1 ? 0 : h);
  const int64_t row = head * pieces_of(queries_, kQueries) + query_block;
  return blocks_[static_cast<std::ptrdiff_t>(row * pieces_of(keys_, kKeys) + key_block)];
}

double BlockMask::sparsity() const {
  const int64_t all = options_.batch * options_.heads * pieces_of(queries_, kQueries) * pieces_of(keys_, kKeys);
  if (!defined() || all == 0) return 0;
  const auto masked = std::count(blocks_.get(), blocks_.get() + all, Block::none);
  return static_cast<double>(masked) / static_cast<double>(all);
}

}  // namespace tapegrad
