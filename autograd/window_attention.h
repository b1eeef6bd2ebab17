// Attention within a sliding window, for long inputs: time and memory grow with the length, not with its square.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <optional>
#include <vector>

namespace tapegrad {

class Generator;

struct WindowAttentionOptions {
  int64_t window = 256;  ///< a query attends to this many keys on each side of its position, and to the key at it
  int64_t dilation = 1;  ///< distance between two keys of the window; 1: no gaps
  bool causal = false;   ///< no later keys: neither of the window nor of the global tokens
  /// Positions, in ascending order, that every query attends to, and whose queries attend to every key.
  std::vector<int64_t> global_tokens = {};
  Tensor mask = {};      ///< bool, broadcasts to [..., T, S], never copied: true may be attended to, as in [B, 1, 1, S]
  double dropout = 0;    ///< probability, applied to the weights in training
  bool training = true;  ///< false: no dropout
  std::optional<double> scale = {};  ///< of the scores; 1 / sqrt(D) if left out
  Generator* generator = nullptr;    ///< for dropout; the default generator if left out
};

/// softmax(query key^T * scale) value over the keys that each query attends to: query [..., T, D], key [..., S, D],
/// value
/// [..., S, E] -> [..., T, E]; leading axes broadcast. T <= S: the queries are the last T of the S positions (in
/// decoding, earlier keys come from a cache). Query t at position p = S - T + t attends to the keys p + j dilation, |j|
/// <= window, within the input; global tokens attend to all, and all to them. Zeros where a query has no key. Beltagy,
/// Peters, Cohan 2020, Longformer.
///
/// Time and memory are O(T (window + global tokens)), forward and backward: no tensor has T x S elements, except for
/// each global token one row of S. A window that covers the whole input gives the bits of scaled_dot_product_attention.
/// Backward to second order gathers D elements per query and key.
///
/// Dropout makes one draw for each query and each key that it could attend to: for every leading index and query, the
/// window's keys in ascending order (2 window + 1, causal window + 1, also past the input's ends; the window being at
/// most what fits the input), then the global tokens; after them, for every leading index and global token among the
/// queries, all S keys.
Tensor sliding_window_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                const WindowAttentionOptions& options = {});

}  // namespace tapegrad
