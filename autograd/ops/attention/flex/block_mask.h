// Which blocks of queries and keys a mask lets see each other.
#pragma once

#include <tapegrad/autograd/flex_mods.h>

#include <cstdint>
#include <memory>

namespace tapegrad {

struct BlockMaskOptions {
  int64_t batch = 1;  ///< sequences for which the rule differs; 1: it is evaluated for b = 0, and holds for all
  int64_t heads = 1;  ///< the same for heads
};

/// A mask_mod and which blocks of kQueries queries and kKeys keys it lets see all, some or none of each other: one byte
/// per block.
class BlockMask {
 public:
  /// Rows and columns of a block.
  static constexpr int64_t kQueries = 64, kKeys = 128;
  /// How many pairs of a block are allowed.
  enum class Block : uint8_t { none, some, all };

  BlockMask() = default;
  bool defined() const { return blocks_ != nullptr; }
  /// The share of blocks that are skipped, from 0 to 1; 0 if there are none.
  double sparsity() const;

  /// The sizes that it was made for, and the rule.
  int64_t batch() const { return options_.batch; }
  int64_t heads() const { return options_.heads; }
  int64_t queries() const { return queries_; }
  int64_t keys() const { return keys_; }
  const MaskMod& mask_mod() const { return mask_mod_; }
  /// Of a block of queries and a block of keys, both by number.
  Block block(int64_t b, int64_t h, int64_t query_block, int64_t key_block) const;

 private:
  friend BlockMask block_mask(MaskMod mask_mod, int64_t queries, int64_t keys, const BlockMaskOptions& options);
  MaskMod mask_mod_;
  int64_t queries_ = 0, keys_ = 0;
  BlockMaskOptions options_;
  std::shared_ptr<const Block[]> blocks_;  // [batch, heads, blocks of queries, blocks of keys]
};

/// Evaluates mask_mod for all queries and keys, once: reuse the result. Later, it is not called for full or empty
/// blocks. Error for negative sizes, and for more blocks than a machine can hold.
BlockMask block_mask(MaskMod mask_mod, int64_t queries, int64_t keys, const BlockMaskOptions& options = {});

}  // namespace tapegrad
