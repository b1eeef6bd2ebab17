// Attention with all keys.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <optional>
#include <utility>

namespace tapegrad {

class Generator;

// autograd/ops/attention/attention.cpp: fused, floating

struct AttentionOptions {
  Tensor mask = {};  ///< bool (true: may be attended to), or floating (added to the scores); broadcasts to [..., T, S]
  bool causal = false;               ///< the queries are the last of S positions (with T > S: the first); no later keys
  double dropout = 0;                ///< probability, applied to the weights in training
  bool training = true;              ///< false: no dropout
  std::optional<double> scale = {};  ///< of the scores; default: 1 / sqrt(D)
  Generator* generator = nullptr;    ///< for dropout; nullptr: the default generator
  bool enable_gqa = false;           ///< query [..., H, T, D] may have more heads than key and value; see below
};
/// softmax(query key^T * scale + mask) value: query [..., T, D], key [..., S, D], value [..., S, E] -> [..., T, E];
/// leading axes broadcast. Zeros for a query whose keys are all masked; NaN and infinities in keys and values that a
/// mask hides (bool, -inf, causal) have no influence. Vaswani et al. 2017. With enable_gqa (grouped-query attention;
/// Ainslie et al. 2023), key and value have K heads (axis -3), where K divides the query's H; head h of the query uses
/// head h K / H, rounded down, and no head is copied. Error for a floating mask that has only ones and zeros, because
/// it was probably meant to be bool; a mask of zeros only, or one that requires a gradient, is accepted.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options = {});
/// The same, and the weights [..., T, S] before dropout, which are not recorded.
std::pair<Tensor, Tensor> attention_with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                                 const AttentionOptions& options = {});

}  // namespace tapegrad
