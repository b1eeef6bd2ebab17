// Sequences out of a trained model.
#pragma once

#include <tapegrad/nn/transformer.h>

namespace tapegrad::nn {

// Greedy decoding: from `start`, always the likeliest next token, `length` times. src [B, S] -> [B, length] int64
// without the start token. The model should be in eval mode. Error when length exceeds max_position_embeddings.
Tensor greedy_decode(const Transformer& model, const Tensor& src, const Tensor& src_mask, std::int64_t length,
                     std::int64_t start = 0);

}  // namespace tapegrad::nn
