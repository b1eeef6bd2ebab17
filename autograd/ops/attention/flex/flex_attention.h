// Attention with a formula for the scores and a rule for what may be attended to, without a T x S tensor:
//
//   const auto soft_cap = [](auto score, auto, auto, auto, auto) { return 20 * tanh(score / 20); };
//   const auto causal = [](int64_t, int64_t, int64_t q, int64_t k) { return q >= k; };
//   const BlockMask mask = block_mask(causal, T, T);  // once, for all layers and steps
//   const Tensor y = flex_attention(query, key, value, {.score_mod = soft_cap, .block_mask = mask});
//
// Not included by ops.h.
#pragma once

#include <tapegrad/autograd/block_mask.h>
#include <tapegrad/autograd/flex_mods.h>
#include <tapegrad/autograd/tensor.h>

#include <optional>

namespace tapegrad {

struct FlexAttentionOptions {
  ScoreMod score_mod = {};           ///< default: the score itself
  MaskMod mask_mod = {};             ///< default: every key; evaluated for all batches, heads, queries and keys
  BlockMask block_mask = {};         ///< instead of mask_mod: made before, by block_mask()
  std::optional<double> scale = {};  ///< of the scores, before score_mod; default: 1 / sqrt(D)
  bool enable_gqa = false;           ///< key and value have K heads, where K divides H; see AttentionOptions
};
/// softmax(score_mod(query key^T * scale)) value over the keys that the mask allows: query [B, H, T, D], key [B, H, S,
/// D], value [B, H, S, E] -> [B, H, T, E]. Zeros, with gradient 0, for a query whose keys are all masked. Time grows
/// with the blocks that are not masked; memory with T and S, forward and backward. The gradients of query, key and
/// value include the derivative of score_mod; its tables get none, and create_graph throws Error. Heads run in parallel
/// in backward. PyTorch 2.5's flex_attention; Dong et al. 2024 (Flex Attention).
Tensor flex_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                      const FlexAttentionOptions& options = {});

}  // namespace tapegrad
