// Sequences out of a trained model.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/check.h>
#include <tapegrad/nn/generate.h>
#include <tapegrad/nn/mask.h>

namespace tapegrad::nn {

Tensor greedy_decode(const Transformer& model, const Tensor& src, const Tensor& src_mask, std::int64_t length,
                     std::int64_t start) {
  constexpr std::string_view kWhere = "greedy_decode";
  require_positive(kWhere, "the length", length);
  if (length > model.config.max_position_embeddings) {
    fail(kWhere, fmt::format("a sequence of length {} is longer than max_position_embeddings {}", length,
                             model.config.max_position_embeddings));
  }
  const PauseRecording pause;
  const Tensor memory = model.encode(src, src_mask);
  const Tensor mask = causal_mask(length);
  Tensor tokens = full({src.size(0), 1}, static_cast<double>(start), kInt64);  // [B, 1 + t]
  for (std::int64_t t = 1; t <= length; ++t) {
    const Tensor hidden = model.decode(memory, src_mask, tokens, narrow(narrow(mask, 0, 0, t), 1, 0, t));
    const Tensor next = argmax(model.generator(narrow(hidden, 1, t - 1, 1)), -1);  // [B, 1]
    tokens = cat({tokens, next}, 1);
  }
  return narrow(tokens, 1, 1, length).contiguous();
}

}  // namespace tapegrad::nn
