// Attention within a sliding window, for long inputs: time and memory grow with the length, not with its square.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <optional>
#include <vector>

namespace tapegrad {

class Generator;

struct WindowAttentionOptions {
  int64_t window = 256;  ///< a query attends to this many keys on each side, and to the key at its own position
  int64_t dilation = 1;  ///< distance between two keys of the window; 1: no gaps
  bool causal = false;   ///< no later keys, neither in the window nor among the global tokens
  /// Positions, in ascending order, that every query attends to, and whose queries attend to every key.
  std::vector<int64_t> global_tokens = {};
  Tensor mask = {};      ///< bool, broadcasts to [..., T, S] without a copy, as [B, 1, 1, S]; true: may be attended to
  double dropout = 0;    ///< probability, applied to the weights in training
  bool training = true;  ///< false: no dropout
  std::optional<double> scale = {};  ///< of the scores; 1 / sqrt(D) if left out
  Generator* generator = nullptr;    ///< for dropout; the default generator if left out
};

/// softmax(query key^T * scale) value over the keys that each query attends to: query [..., T, D], key [..., S, D],
/// value [..., S, E] -> [..., T, E]; leading axes broadcast. T <= S: the queries are the last T of the S positions (in
/// decoding, earlier keys come from a cache). The query t at position p = S - T + t attends to the keys p + j dilation
/// with |j| <= window, within the input. Global tokens attend to all tokens, and all tokens attend to them. Zeros where
/// a query has no key.
/// Beltagy, Peters, Cohan 2020, Longformer.
///
/// Time and memory are O(T (window + global tokens)), forward and backward: no tensor has T x S elements, but each
/// global token has one row of S. A window that covers the whole input is bit-identical to
/// scaled_dot_product_attention. The second-order backward gathers D elements per query and key.
///
/// Dropout samples one number for each query and each key that it could attend to: for every leading index and query,
/// first the keys of the window in ascending order (2 window + 1, causal window + 1, including those past the ends of
/// the input; a larger window counts as the largest that fits the input), then the global tokens. Afterwards, for every
/// leading index and global token among the queries, it samples numbers for all S keys.
Tensor sliding_window_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                const WindowAttentionOptions& options = {});

}  // namespace tapegrad
