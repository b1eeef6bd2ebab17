// The arguments of one call of scaled dot-product attention, as its kernels see them.
#pragma once

#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops/detail/dropout_mask.h>
#include <tapegrad/autograd/ops/detail/matrices.h>
#include <tapegrad/autograd/tensor.h>

#include <algorithm>
#include <span>

namespace tapegrad {

/// The attention weights are not kept: backward computes them again.
struct Attention {
  Tensor query, key, value;  // [..., T, D] [..., S, D] [..., S, E]
  Shape batch;               // to which their leading axes broadcast
  Tensor mask;               // expanded to [..., T, S], or empty
  PackedDropoutMask keep;    // [..., T, S], or none without dropout
  double scale = 1;
  double keep_probability = 1;  // 1 - p
  bool wants_mask = false;      // the gradient of an added mask
  bool causal = false;          // query t sees the keys 0 .. earlier() + t
  bool narrow = false;          // matmuls in bfloat16, which query, key and value may be in; all else is float32
  DType dtype = kFloat32;

  int64_t rows() const { return query.size(-2); }
  int64_t columns() const { return key.size(-2); }
  int64_t heads() const { return batch.numel(); }
  // Keys before the first query's own key: the last query has the position of the last key.
  int64_t earlier() const { return std::max<int64_t>(0, columns() - rows()); }
  // The keys that causal queries before `end` see.
  int64_t seen_before(int64_t end) const { return causal ? std::min(columns(), earlier() + end) : columns(); }
  // The number of neighbouring heads that share keys and values; 1: none do.
  int64_t sharing() const {
    const auto once = [](const Tensor& x) { return x.dim() < 3 || x.size(-3) == 1; };
    return !batch.empty() && batch[-1] > 1 && once(key) && once(value) ? batch[-1] : 1;
  }
  // The number of partial sums of the gradients of shared keys and values: one, or more so that threads have work.
  int64_t sums() const {
    const int64_t wanted = std::min(kLeastPieces, heads() / std::max<int64_t>(1, kPieceWork / head_work()));
    const int64_t heads_that_share = sharing();
    int64_t sums = 1;
    while (sums < heads_that_share && (heads_that_share % sums != 0 || heads() / heads_that_share * sums < wanted))
      ++sums;
    return sums;
  }
  // Heads for one thread to take at a time: about a million multiplications. Few queries and keys take about as long as
  // so many multiplications in any case.
  int64_t grain() const {
    constexpr int64_t kLeastWork = 20000;
    return std::max<int64_t>(1, kPieceWork / (head_work() + kLeastWork));
  }
  // Multiplications of a head.
  int64_t head_work() const { return std::max<int64_t>(1, rows() * columns() * (query.size(-1) + value.size(-1))); }

  static constexpr int64_t kPieceWork = int64_t{1} << 20;
  static constexpr int64_t kLeastPieces = 16;
};

// --- head by head, in every case (attention_heads.cpp) ---

/// Fills y [..., T, E] and, where it is defined, weights [..., T, S].
void attention_by_heads(const Attention& a, const Tensor& y, const Tensor& weights);
/// Fills dquery, dkey, dvalue and, where it is defined, dscores [..., T, S] (the gradient of an added mask). dkey and
/// dvalue have one element along the heads that share keys, or as many as there are sums.
void attention_by_heads_backward(const Attention& a, const Tensor& dy, const Tensor& dq, const Tensor& dk,
                                 const Tensor& dv, const Tensor& dscores);

// --- few queries and keys: one head in each lane of a vector (attention_lanes.cpp) ---

/// Whether there are so few, and enough heads, in float32. Results are bit-identical to those of attention_by_heads.
bool suits_lanes(const Attention& a);

/// Fills y [..., T, E].
void attention_by_lanes(const Attention& a, const Tensor& y);
/// Fills dquery, dkey, dvalue. dy has contiguous rows.
void attention_by_lanes_backward(const Attention& a, const Tensor& dy, const Tensor& dq, const Tensor& dk,
                                 const Tensor& dv);

// --- many queries and keys: the keys of a head are packed once for all queries (attention_blocks.cpp) ---

/// Whether there are enough queries and keys for that. y is bit-identical to that of attention_by_heads.
bool suits_blocks(const Attention& a);

/// Fills y [..., T, E] and `softmax` [2, heads, T]: the highest score of each query, and 1 / the sum of its weights (0
/// if all keys are masked).
void attention_by_blocks(const Attention& a, const Tensor& y, const Tensor& softmax);

/// dquery, dkey, dvalue from what attention_by_blocks computed. dkey and dvalue have one element along the heads that
/// share keys, or as many as there are sums.
void attention_by_blocks_backward(const Attention& a, const Tensor& y, const Tensor& softmax, const Tensor& dy,
                                  const Tensor& dq, const Tensor& dk, const Tensor& dv);

// --- by recorded operations (attention_recorded.cpp) ---

/// The weights [..., T, S], without dropout: for second-order gradients and for a TapeWatch.
Tensor composed_weights(const Attention& a);
/// dquery, dkey, dvalue, dscores.
Grads composed_backward(const Attention& a, const Tensor& dy);
/// The tangent of the result from the tangents of query, key, value and mask, of which any may be empty. An empty
/// handle if hidden keys are not finite.
Tensor composed_tangent(const Attention& a, std::span<const Tensor> tangents);

}  // namespace tapegrad
