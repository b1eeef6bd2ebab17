// Attention with a formula for the scores and a rule for what may be attended to: checks, block masks, recording.
// build: -Os
#include <tapegrad/autograd/flex_attention.h>

#include <fmt/format.h>
#include <tapegrad/autograd/detail/op_timer.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/attention/detail/flex_call.h>

#include <cmath>

namespace tapegrad {
namespace {

const Op kFlexAttention{"flex_attention", false};

void require_operands(const Tensor& query, const Tensor& key, const Tensor& value, bool grouped) {
  const Op& op = kFlexAttention;
  require_floating(op.name, {&query, &key, &value});
  const auto shapes = [&] {
    return fmt::format("query {}, key {}, value {}", str(query.shape()), str(key.shape()), str(value.shape()));
  };
  if (query.dim() != 4 || key.dim() != 4 || value.dim() != 4) {
    op.fail(fmt::format("expected four axes for each ([B, H, T, D]), got {}", shapes()));
  }
  const auto differ = [&](int axis, const Tensor& a, const Tensor& b) { return a.size(axis) != b.size(axis); };
  if (differ(0, query, key) || differ(0, key, value) || differ(1, key, value)) {
    op.fail(fmt::format("expected equal batches, and as many heads of values as of keys, got {} (expand() them)",
                        shapes()));
  }
  if (differ(3, query, key)) {
    op.fail(fmt::format("query and key must have the same last size, got {} ({} against {})", shapes(), query.size(3),
                        key.size(3)));
  }
  if (differ(2, key, value)) {
    op.fail(fmt::format("expected as many values as keys, got {} ({} keys against {} values)", shapes(), key.size(2),
                        value.size(2)));
  }
  const int64_t heads = query.size(1), of_keys = key.size(1);
  if (grouped ? of_keys == 0 || heads % of_keys != 0 : heads != of_keys) {
    op.fail(fmt::format("expected as many heads of keys as of queries{}, got {}",
                        grouped ? ", or a divisor of it" : " (or enable_gqa)", shapes()));
  }
}

void require_fitting(const BlockMask& mask, const Tensor& query, const Tensor& key) {
  const auto fits = [](int64_t of_mask, int64_t size) { return of_mask == 1 || of_mask == size; };
  if (mask.queries() != query.size(2) || mask.keys() != key.size(2) || !fits(mask.batch(), query.size(0)) ||
      !fits(mask.heads(), query.size(1))) {
    kFlexAttention.fail(fmt::format(
        "expected a block_mask for {} queries and {} keys of {} sequences and {} heads, or of 1, got {}, {}, {}, {}",
        query.size(2), key.size(2), query.size(0), query.size(1), mask.queries(), mask.keys(), mask.batch(),
        mask.heads()));
  }
}

}  // namespace

BlockMask block_mask(MaskMod mask_mod, int64_t queries, int64_t keys, const BlockMaskOptions& options) {
  if (!mask_mod) fail("block_mask", "expected a mask_mod, got an empty one");
  if (queries < 0 || keys < 0 || options.batch < 0 || options.heads < 0) {
    fail("block_mask", fmt::format("sizes must not be negative, got {} queries, {} keys, batch {}, {} heads", queries,
                                   keys, options.batch, options.heads));
  }
  constexpr int64_t kRows = BlockMask::kQueries, kColumns = BlockMask::kKeys;
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

Tensor flex_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                      const FlexAttentionOptions& options) {
  const OpTimer timer(kFlexAttention, {query, key, value});
  require_operands(query, key, value, options.enable_gqa);
  FlexCall a{.query = query, .key = key, .value = value, .score_mod = options.score_mod, .mask = options.block_mask};
  if (options.mask_mod) {
    if (a.mask.defined()) kFlexAttention.fail("expected a mask_mod or a block_mask, got both");
    a.mask = block_mask(options.mask_mod, a.rows(), a.columns(), {.batch = query.size(0), .heads = query.size(1)});
  }
  if (a.mask.defined()) require_fitting(a.mask, query, key);
  a.scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, query.size(3)))));
  const Tensor y = Tensor::empty({query.size(0), query.size(1), a.rows(), value.size(3)}, query.dtype());
  const Tensor softmax = Tensor::empty({2, a.all_heads(), a.rows()}, query.dtype());
  flex_forward(a, y, softmax);
  if (!needs_grad(query) && !needs_grad(key) && !needs_grad(value)) return y;
  return record(kFlexAttention, y, {query, key, value}, [a, y, softmax](const Tensor& dy) -> Grads {
    const Tensor dq = zeros(a.query.shape(), dy.dtype()), dk = zeros(a.key.shape(), dy.dtype()),
                 dv = zeros(a.value.shape(), dy.dtype());
    flex_backward(a, y, softmax, packed(dy), dq, dk, dv);
    return {dq * a.scale, dk, dv};
  });
}

}  // namespace tapegrad
