// Beam search.
#pragma once

#include <tapegrad/nn/generate_options.h>
#include <tapegrad/nn/next_token.h>

namespace tapegrad::nn::detail {

Generated beam_search(NextTokenLogits& model, const Tensor& prompt, const GenerateOptions& options);

}  // namespace tapegrad::nn::detail
