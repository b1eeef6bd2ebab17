// Attention to the keys near each query, and to global tokens. Beltagy, Peters, Cohan 2020, Longformer.
#pragma once

#include <tapegrad/nn/attention_choice.h>

namespace tapegrad::nn {

/// Options of sliding_window_attention as a form of attention. It has the parameters of full attention.
struct WindowAttention {
  int64_t window = 256;       ///< keys on each side of a query
  int64_t dilation = 1;       ///< distance between two of these keys
  int64_t global_tokens = 0;  ///< the first tokens attend to all, and all attend to them

  /// As FormOptions requires.
  AttentionTraits traits() const;
  void list(Fields& f);
  std::unique_ptr<AttentionForm> make(const AttentionSizes& sizes) const;
};

/// The keys that each query attends to: bool [T, S], for the last T of S positions. For plots and comparisons;
/// attention itself does not use this mask.
Tensor window_mask(int64_t queries, int64_t keys, const WindowAttention& options, bool causal);

}  // namespace tapegrad::nn
