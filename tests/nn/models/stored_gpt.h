// The small GPT that PyTorch ran: tests/data/gpt.json, made by make_gpt.py next to it.
#pragma once

#include <tapegrad/nn/gpt.h>
#include <tapegrad/tests/support/stored.h>

#include <nlohmann/json.hpp>

namespace tapegrad::tests {

inline const nlohmann::json& gpt_golden() {
  static const nlohmann::json data = stored("gpt.json");
  return data;
}

inline nn::GPTConfig golden_config(double drop_rate = 0, bool qkv_bias = false, bool tied = false) {
  const nlohmann::json& c = gpt_golden()["config"];
  return {.vocab_size = c["vocab_size"],
          .context_length = c["context_length"],
          .emb_dim = c["emb_dim"],
          .n_heads = c["n_heads"],
          .n_layers = c["n_layers"],
          .drop_rate = drop_rate,
          .qkv_bias = qkv_bias,
          .tied_head = tied};
}

}  // namespace tapegrad::tests
