// Results and gradients of attention that do not depend on hidden NaN.
// build: -Os
#include <fmt/format.h>
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/attention/detail/hidden_keys.h>

namespace tapegrad {
namespace {

// Rows [..., n, 1] that are not finite.
Tensor broken_rows(const Tensor& x) { return any(logical_not(isfinite(x.detach().to(kFloat64))), -1, true); }

// Operands whose scores are 0, and whose values are 1 where `broken`.
AttentionOperands marked(const AttentionOperands& x, const Tensor& broken, DType dtype) {
  return {zeros(x.query.shape(), dtype), zeros(x.key.shape(), dtype), broken.to(dtype)};
}

Tensor sees_broken(const AttentionOperands& x, const UniformAttention& uniform, DType dtype) {
  const Tensor broken = logical_or(broken_rows(x.key), broken_rows(x.value));
  return logical_or(uniform.result(marked(x, broken, dtype)) > 0, broken_rows(x.query));
}

DType scores_type(const Tensor& query) { return query.dtype() == kFloat64 ? kFloat64 : kFloat32; }

}  // namespace

void AttentionOperands::check(std::string_view where) const {
  const auto shapes = [&] {
    return fmt::format("query {}, key {}, value {}", str(query.shape()), str(key.shape()), str(value.shape()));
  };
  require_floating(where, {&query, &key, &value});
  if (query.dim() < 2 || key.dim() < 2 || value.dim() < 2) {
    fail(where, "expected two axes or more for each ([..., T, D]), got {}", shapes());
  }
  if (query.size(-1) != key.size(-1)) {
    fail(where, "expected query and key with the same last size, got {} ({} against {})", shapes(), query.size(-1),
         key.size(-1));
  }
  if (key.size(-2) != value.size(-2)) {
    fail(where, "expected as many values as keys, got {} ({} keys against {} values)", shapes(), key.size(-2),
         value.size(-2));
  }
}

bool is_all_finite(const Tensor& x) {
  Dims order;  // of the axes in memory, the outermost first
  for (int i = 0; i < x.dim(); ++i) {
    int at = i;
    while (at > 0 && x.strides()[static_cast<int>(order[at - 1])] < x.strides()[i]) --at;
    order.insert(at, i);
  }
  return all_finite(x.detach().permute(order));
}

Tensor finite_part(const Tensor& x) {
  const Tensor wide = is_half(x.dtype()) ? x.to(kFloat32) : x;
  return masked_fill(wide, logical_not(isfinite(wide.detach())), 0);
}

AttentionOperands AttentionOperands::finite() const {
  return {finite_part(query), finite_part(key), finite_part(value)};
}

std::vector<Tensor> results_of_seen(const AttentionOperands& x, const UniformAttention& uniform,
                                    std::vector<Tensor> given,
                                    const std::function<std::vector<Tensor>(const AttentionOperands&)>& again) {
  if (is_all_finite(x.key) && is_all_finite(x.value)) return given;
  const PauseRecording pause;
  const AttentionOperands fixed{x.query.detach(), x.key.detach(), x.value.detach()};
  const Tensor broken = sees_broken(fixed, uniform, scores_type(x.query));
  const std::vector<Tensor> finite = again(fixed.finite());
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i].defined()) given[i] = where(broken, given[i], finite[i]);
  return given;
}

Tensor tangent_of_seen(const AttentionOperands& x, const AttentionTangents& tangents, const UniformAttention& uniform,
                       const Tensor& given,
                       const std::function<Tensor(const AttentionOperands&, const AttentionTangents&)>& again) {
  Tensor broken;
  AttentionTangents finite = tangents;
  {
    const PauseRecording pause;
    const auto marked_by = [&](const Tensor& operand, const Tensor& of) {
      return of.defined() ? operand.detach() + of.detach() * 0 : operand.detach();
    };
    const AttentionOperands either{marked_by(x.query, tangents[0]), marked_by(x.key, tangents[1]),
                                   marked_by(x.value, tangents[2])};
    if (is_all_finite(either.key) && is_all_finite(either.value)) return given;
    broken = sees_broken(either, uniform, scores_type(x.query));
  }
  for (Tensor& one : finite) {
    if (one.defined()) one = finite_part(one);
  }
  return where(broken, given, again(x.finite(), finite));
}

Grads gradients_of_seen(const AttentionOperands& x, const Tensor& dy, const UniformAttention& uniform, Grads given,
                        const std::function<Grads(const AttentionOperands&, const Tensor& dy)>& again) {
  if (is_all_finite(x.query) && is_all_finite(x.key) && is_all_finite(x.value) && is_all_finite(dy)) return given;
  Tensor queries, keys;
  {
    const PauseRecording pause;
    queries = logical_or(sees_broken(x, uniform, dy.dtype()), broken_rows(dy));
    const Tensor broken = broken_rows(x.value);
    keys = uniform.value_gradient(marked(x, broken, dy.dtype()), queries.to(dy.dtype())) > 0;
  }
  Grads finite = again(x.finite(), finite_part(dy));
  const auto chosen = [&](std::size_t i, const Tensor& broken) {
    if (!given[i].defined()) return Tensor();
    if (!Tape::current()) return where(broken, given[i].detach(), finite[i]);
    // Derivatives are those of the finite parts everywhere: of a sum with NaN, other terms keep theirs.
    return finite[i] + where(broken, given[i].detach() - finite[i].detach(), 0);
  };
  Grads all{chosen(0, queries), chosen(1, keys), chosen(2, keys)};
  if (given.size() > 3) all.push_back(chosen(3, queries));
  return all;
}

}  // namespace tapegrad
