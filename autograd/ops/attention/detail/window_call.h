// The arguments of one call of window attention.
#pragma once

#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops/detail/dropout_mask.h>
#include <tapegrad/autograd/ops/detail/matrices.h>

#include <algorithm>

namespace tapegrad {

// The keys and queries of the positions that are equal modulo the dilation.
struct Lane {
  int64_t keys, queries;
  int64_t first_key, first_query;  // rows of the tensors; the next ones follow at a distance of the dilation
  int64_t shift;                   // query i has the position of key shift + i
};

// The arguments of one call. The leading axes of query, key and value are equal (expanded where they broadcast). The
// weights are not kept: backward computes them again.
struct WindowAttention {
  Tensor query, key, value;     // [..., T, D] [..., S, D] [..., S, E]
  Tensor mask;                  // bool, expanded to [..., T, S], or empty
  PoolVector<int64_t> globals;  // ascending positions
  PackedDropoutMask keep;       // as sliding_window_attention documents, or none without dropout
  double scale = 1;
  double keep_probability = 1;  // 1 - p
  int64_t window = 0, dilation = 1;
  bool causal = false;

  int64_t rows() const { return query.size(-2); }
  int64_t columns() const { return key.size(-2); }
  int64_t start() const { return columns() - rows(); }  // the position of the first query
  int64_t heads() const { return leading_axes(query).numel(); }
  int64_t later() const { return causal ? 0 : window; }   // keys of the window after the query
  int64_t slots() const { return window + 1 + later(); }  // keys of the window
  int64_t seen_by_all() const { return static_cast<int64_t>(globals.size()); }
  int64_t draws() const { return slots() + seen_by_all(); }  // of dropout, per query
  // The global tokens that are queries are globals[first_global_query()] and the following ones.
  int64_t first_global_query() const {
    return std::lower_bound(globals.begin(), globals.end(), start()) - globals.begin();
  }
  int64_t global_queries() const { return seen_by_all() - first_global_query(); }

  Lane lane(int64_t i) const {
    const int64_t first_query = (i - start() % dilation + dilation) % dilation;
    return {.keys = (columns() - i + dilation - 1) / dilation,
            .queries = std::max<int64_t>(0, (rows() - first_query + dilation - 1) / dilation),
            .first_key = i,
            .first_query = first_query,
            .shift = (start() + first_query - i) / dilation};
  }
  // Queries whose weights are in memory at a time. Wider blocks compute less outside of the window, narrower ones waste
  // less of a narrow window.
  int64_t block_rows() const { return slots() < 128 ? 32 : 64; }
  int64_t block_columns() const { return seen_by_all() + block_rows() + window + later(); }
  // Queries of a lane for one thread to take at a time. The keys of every second piece do not overlap.
  int64_t piece() const {
    constexpr int64_t kLeast = 512;
    const int64_t block = block_rows();
    return (std::max(kLeast, 2 * window) + block - 1) / block * block;
  }
  int64_t pieces() const { return ((rows() + dilation - 1) / dilation + piece() - 1) / piece(); }  // of one lane
};

/// dquery, dkey and dvalue, made of recorded operations, for second-order gradients: gathers the keys of each query.
Grads recorded_window_backward(const WindowAttention& a, const Tensor& dy);

}  // namespace tapegrad
