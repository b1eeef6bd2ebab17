// Attention by recorded operations: its weights, its gradients, which can be differentiated again, and its tangent.
// build: -Os
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/attention/detail/attention_call.h>
#include <tapegrad/autograd/ops/attention/detail/hidden_keys.h>
#include <tapegrad/autograd/ops/detail/matrices.h>
#include <tapegrad/autograd/ops/detail/rounded.h>

#include <limits>

namespace tapegrad {
namespace {

// What dropout multiplies the weights by, or nothing.
Tensor unpacked_keep(const Attention& a) {
  return a.keep ? a.keep.unpack(with_axes(a.batch, {a.rows(), a.columns()})).to(a.dtype) / a.keep_probability
                : Tensor();
}

}  // namespace

Tensor composed_weights(const Attention& a) {
  Tensor scores = matmul_of(a.query, a.key.t(), a.narrow) * a.scale;
  const double nothing = -std::numeric_limits<double>::infinity();
  if (a.mask.defined()) {
    scores = a.mask.dtype() == kBool ? where(a.mask, scores, nothing) : scores + a.mask;
  }
  if (a.causal) {
    const Tensor later = triu(ones({a.rows(), a.columns()}, kBool), 1 + a.earlier());
    scores = masked_fill(scores, later, nothing);
  }
  return softmax(scores, -1);
}

Grads composed_backward(const Attention& a, const Tensor& dy) {
  const Tensor w = composed_weights(a), kept = unpacked_keep(a);
  const Tensor dropped = kept.defined() ? w * kept : w;
  const Tensor dv = matmul_of(dropped.t(), dy, a.narrow);
  Tensor dw = matmul_of(dy, a.value.t(), a.narrow);
  if (kept.defined()) dw = dw * kept;
  const Tensor ds = w * (dw - sum(dw * w, -1, true));
  return {matmul_of(ds, a.key, a.narrow) * a.scale, matmul_of(ds.t(), a.query, a.narrow) * a.scale, dv, ds};
}

Tensor composed_tangent(const Attention& a, std::span<const Tensor> t) {
  const Tensor w = composed_weights(a), kept = unpacked_keep(a);
  const auto dropped = [&kept](const Tensor& x) { return kept.defined() ? x * kept : x; };
  const auto plus = [](const Tensor& sum, const Tensor& term) { return sum.defined() ? add(sum, term) : term; };
  Tensor ds, y;
  if (t[0].defined()) ds = matmul_of(t[0], a.key.t(), a.narrow) * a.scale;
  if (t[1].defined()) ds = plus(ds, matmul_of(a.query, t[1].t(), a.narrow) * a.scale);
  if (t[3].defined()) ds = plus(ds, t[3]);
  if (ds.defined()) y = matmul_of(dropped(w * (ds - sum(ds * w, -1, true))), a.value, a.narrow);
  if (t[2].defined()) y = plus(y, matmul_of(dropped(w), t[2], a.narrow));
  return y;
}

}  // namespace tapegrad
