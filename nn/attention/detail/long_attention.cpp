// Checks of the attention modules for long inputs.
#include <fmt/format.h>
#include <tapegrad/nn/attention/detail/long_attention.h>

namespace tapegrad::nn::detail {

void require_sequence(std::string_view where, const Tensor& x, int64_t width) {
  if (x.dim() == 3 && x.size(2) == width) return;
  fail(where, fmt::format("expected x [B, T, {}], got {}", width, str(x.shape())));
}

void require_context_length(std::string_view where, int64_t context_length) {
  if (context_length >= 0) return;
  fail(where, fmt::format("context_length must be positive, or 0 for any length, got {}", context_length));
}

void require_within_context(std::string_view where, int64_t length, int64_t context_length) {
  if (context_length == 0 || length <= context_length) return;
  fail(where, fmt::format("a sequence of length {} is longer than context_length {}", length, context_length));
}

void require_no_bias(std::string_view where, const AttentionPass& pass) {
  if (!pass.positions || !pass.positions->bias.defined()) return;
  fail(where,
       "expected positions without a bias per pair of tokens (rope, or added to the input), got a bias (t5, alibi)");
}

Tensor mask_of_keys(std::string_view where, const Tensor& mask) {
  if (!mask.defined()) return mask;
  const bool of_keys = mask.dtype() == kBool && mask.dim() >= 1 && (mask.dim() == 1 || mask.size(-2) == 1);
  if (!of_keys) {
    fail(where, fmt::format("expected a bool mask of keys, [..., 1, S] as padding_mask gives, got {} {}",
                            name(mask.dtype()), str(mask.shape())));
  }
  return mask.dim() == 1 ? mask.unsqueeze(0) : mask;
}

}  // namespace tapegrad::nn::detail
