// Small models with two layers and a width of 8, for tests of their properties.
#pragma once

#include <tapegrad/nn/gpt.h>
#include <tapegrad/nn/llama.h>
#include <tapegrad/nn/transformer.h>

#include <cstdint>
#include <utility>

namespace tapegrad::tests {

// Distances that short inputs exceed.
inline const nn::PositionOptions kSmallDistances(nn::ShawOptions{.distance = 2},
                                                 nn::T5Options{.buckets = 8, .distance = 12});

inline nn::TransformerConfig small_transformer(int64_t vocab_size, int64_t max_positions,
                                               nn::Positions positions = nn::Positions::learned,
                                               const nn::PositionOptions& options = kSmallDistances) {
  return {.vocab_size = vocab_size,
          .hidden_size = 8,
          .num_hidden_layers = 2,
          .num_attention_heads = 2,
          .intermediate_size = 16,
          .max_position_embeddings = max_positions,
          .positions = positions,
          .position_options = options};
}

inline nn::GPTConfig small_decoder(int64_t vocab_size, int64_t context_length,
                                   nn::Positions positions = nn::Positions::learned,
                                   const nn::PositionOptions& options = kSmallDistances) {
  return {.vocab_size = vocab_size,
          .context_length = context_length,
          .emb_dim = 8,
          .n_heads = 2,
          .n_layers = 2,
          .positions = positions,
          .position_options = options};
}

inline nn::LlamaConfig small_llama() {
  return {.vocab_size = 11,
          .hidden_size = 8,
          .intermediate_size = 12,
          .num_hidden_layers = 2,
          .num_attention_heads = 4,
          .num_key_value_heads = 2,
          .max_position_embeddings = 16};
}

// In eval mode.
template <class Model>
Model evaluated(Model model) {
  nn::eval(model);
  return model;
}

// In float64 and in eval mode.
template <class Model>
Model exact(Model model) {
  nn::to(model, kFloat64);
  return evaluated(std::move(model));
}

}  // namespace tapegrad::tests
