// One call of attention by hashing, as its files share it.
#pragma once

#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops/detail/batch.h>

#include <algorithm>

namespace tapegrad {

// Consecutive tokens of one head in the sorted order, which attend together.
struct Piece {
  int64_t head, first;   // of the sorted order
  int64_t rows, before;  // tokens, and those of the previous chunk
};

struct LshAttention {
  Tensor query, key, value;  // [..., T, D] [..., T, D] [..., T, E]
  Tensor order;              // int64 [R, ..., T]: the token at each place of the sorted order
  Tensor mask;               // bool [..., T], contiguous, or empty
  int64_t chunk = 1;
  double scale = 1;
  bool causal = false;
  bool within_buckets = false;
  // The chunk of each token, int32 [R, heads, T]: a token attends to its own chunk and to the previous number.
  PoolVector<int32_t> chunk_of = {};
  // By round: first the pieces of even-numbered chunks, which share no keys, then those of odd-numbered ones.
  PoolVector<PoolVector<Piece>> pieces = {};

  int64_t rounds() const { return order.size(0); }
  int64_t tokens() const { return query.size(-2); }
  int64_t heads() const { return leading_axes(query).numel(); }
  int64_t window() const { return fixed_shapes() ? 2 * chunk : std::min(tokens(), 2 * chunk); }
  // Whether a chunk has only tokens before those of the next one. Its results then have the same bits whatever comes
  // later: the shapes of the products that make them depend on places in the bucket, not on how many tokens it has.
  bool fixed_shapes() const { return causal && within_buckets; }
  // Queries of a piece that are computed together.
  int64_t block_rows() const { return fixed_shapes() ? std::min<int64_t>(16, chunk) : chunk; }
  const int64_t* order_of(int64_t round, int64_t head) const {
    return order.data<int64_t>() + (round * heads() + head) * tokens();
  }
  const int32_t* chunks_of(int64_t round, int64_t head) const {
    return chunk_of.data() + (round * heads() + head) * tokens();
  }
  bool visible(int64_t head, int64_t token) const {
    return !mask.defined() || mask.data<bool>()[head * tokens() + token];
  }
  // Number of pieces that a thread takes at a time: about a million multiplications.
  int64_t grain() const {
    const int64_t work = chunk * window() * (query.size(-1) + value.size(-1));
    return std::max<int64_t>(1, (int64_t{1} << 20) / std::max<int64_t>(1, work));
  }

  // Divides the sorted order into chunks; with `buckets` (in that order), every bucket begins a new chunk.
  void cut(const int64_t* buckets);
};

}  // namespace tapegrad
