// NaN and infinities in keys and values that a mask hides. Matmuls multiply them by weights of 0, which gives NaN. So a
// result that is not finite is computed again from the finite parts, for the queries that do not see such keys.
#pragma once

#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/recording.h>
#include <tapegrad/autograd/tape.h>

#include <functional>
#include <string_view>
#include <vector>

namespace tapegrad {

struct AttentionOperands {
  Tensor query, key, value;  // [..., T, D] [..., S, D] [..., S, E]

  /// Error unless they are floating, have two axes or more, and sizes that fit.
  void check(std::string_view where) const;
  /// With zeros in place of NaN and infinities.
  AttentionOperands finite() const;
};
/// The same call of attention with other operands.
template <class Call>
Call with_operands(Call a, const AttentionOperands& x) {
  a.query = x.query, a.key = x.key, a.value = x.value;
  return a;
}
Tensor finite_part(const Tensor& x);
/// Whether all elements are finite; reads them in the order of memory.
bool is_all_finite(const Tensor& x);

/// One form of attention, without dropout, of operands in which all scores are 0 or hidden: it shows which queries see
/// which keys. Its result, and the gradient of its values.
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

/// The functions of one form of attention, and what makes them independent of hidden NaN.
template <class Call, class Result>
struct AttentionFunctions {
  Result (*result)(const Call&);  // .y is what attention returns
  Grads (*gradients)(const Call&, const Result&, const Tensor& dy);
  Call (*uniform)(const Call&);                                // with scores that are 0 or hidden, without dropout
  Grads (*recorded)(const Call&, const Tensor& dy) = nullptr;  // the gradients by recorded operations

  UniformAttention uniform_of(const Call& a) const {
    return {[f = *this, b = uniform(a)](const AttentionOperands& x) { return f.result(with_operands(b, x)).y; },
            [f = *this, b = uniform(a)](const AttentionOperands& x, const Tensor& dy) {
              const Call c = with_operands(b, x);
              return f.gradients(c, f.result(c), dy)[2];
            }};
  }
  /// The corrected result of a call whose result y is not finite.
  Tensor result_of_seen(const Call& a, const Tensor& y) const {
    const auto again = [&](const AttentionOperands& finite) {
      return std::vector<Tensor>{result(with_operands(a, finite)).y};
    };
    return results_of_seen({a.query, a.key, a.value}, uniform_of(a), {y}, again)[0];
  }
  /// The gradients of a call that may hide keys.
  Grads backward(const Call& a, const Result& of, const Tensor& dy) const {
    const bool records = recorded && Tape::current();
    if (records && is_all_finite(a.query) && is_all_finite(a.key) && is_all_finite(a.value)) return recorded(a, dy);
    Grads given = detail::unrecorded([&] { return gradients(a, of, dy); });
    // The gradient of a query is a sum over all keys: finite only if all gradients are.
    if (!records && is_all_finite(given[0])) return given;
    return gradients_of_seen({a.query, a.key, a.value}, dy, uniform_of(a), given,
                             [&](const AttentionOperands& finite, const Tensor& seed) {
                               const Call b = with_operands(a, finite);
                               return records ? recorded(b, seed) : gradients(b, result(b), seed);
                             });
  }
};

}  // namespace tapegrad
