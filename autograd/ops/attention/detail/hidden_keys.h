// NaN and infinities in keys and values that a mask hides. Products multiply them by weights of 0, which gives NaN, so
// where a result is not finite, it is computed again from the finite parts, and chosen for those that do not see them.
#pragma once

#include <tapegrad/autograd/op.h>

#include <functional>
#include <vector>

namespace tapegrad {

struct AttentionOperands {
  Tensor query, key, value;  // [..., T, D] [..., S, D] [..., S, E]

  /// With zeros in place of NaN and infinities.
  AttentionOperands finite() const;
};
Tensor finite_part(const Tensor& x);
/// Whether all elements are, in the order of memory.
bool is_all_finite(const Tensor& x);

/// One form of attention of operands in which all scores are 0 or hidden, without dropout: the result, or the gradient
/// of the values.
struct UniformAttention {
  std::function<Tensor(const AttentionOperands&)> result;
  std::function<Tensor(const AttentionOperands&, const Tensor& dy)> value_gradient;
};

/// Results [..., T, ...] of which some are not finite: `given` for queries that see a key or a value with NaN or an
/// infinity, or have one themselves, `again(finite operands)` for the others. Empty handles stay empty. Not recorded.
std::vector<Tensor> results_of_seen(const AttentionOperands& x, const UniformAttention& uniform,
                                    std::vector<Tensor> given,
                                    const std::function<std::vector<Tensor>(const AttentionOperands&)>& again);

/// Tangents of query, key and value, and perhaps of scores; empty for zero.
using AttentionTangents = std::vector<Tensor>;
/// The tangent of such a result: `given` for queries that see a NaN or an infinity, of a tangent or an operand, `again`
/// of the finite parts for the others.
Tensor tangent_of_seen(const AttentionOperands& x, const AttentionTangents& tangents, const UniformAttention& uniform,
                       const Tensor& given,
                       const std::function<Tensor(const AttentionOperands&, const AttentionTangents&)>& again);

/// The gradients for query, key and value, and perhaps scores: `given` where NaN or infinities of the operands or of dy
/// have an influence, `again(finite operands, finite dy)` elsewhere.
Grads gradients_of_seen(const AttentionOperands& x, const Tensor& dy, const UniformAttention& uniform, Grads given,
                        const std::function<Grads(const AttentionOperands&, const Tensor& dy)>& again);

}  // namespace tapegrad
