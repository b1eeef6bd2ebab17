// Shared by the attention modules: checks, and for long inputs the weights that they correspond to.
#pragma once

#include <tapegrad/nn/attention_pass.h>

#include <string_view>

namespace tapegrad::nn::detail {

// Error unless x is [B, T, width].
void require_sequence(std::string_view where, const Tensor& x, int64_t width);
// Error if context_length is negative; 0 means any length.
void require_context_length(std::string_view where, int64_t context_length);
// Error if a sequence of `length` tokens is longer than context_length, unless that is 0.
void require_within_context(std::string_view where, int64_t length, int64_t context_length);
// Error for what needs a score per pair of positions: T5's bias, ALiBi.
void require_no_bias(std::string_view where, const AttentionPass& pass);
// The mask as bool [..., 1, S]; an empty handle for none. Error if it is not bool, or hides keys from some queries
// only.
Tensor mask_of_keys(std::string_view where, const Tensor& mask);
// What attention takes of each value, [B, heads, T, S]: its result for the unit vectors as values. `attend` gets them.
template <class Attend>
Tensor implied_weights(const Tensor& values, Attend attend) {
  const PauseRecording pause;
  const int64_t count = values.size(-2);
  return attend(eye(count, values.dtype()).expand({values.size(0), values.size(1), count, count})).detach();
}

}  // namespace tapegrad::nn::detail
