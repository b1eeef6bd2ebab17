// Attention with a formula for the scores and a rule for what may be attended to: checks and recording.
// build: -Os
#include <tapegrad/autograd/flex_attention.h>

#include <fmt/format.h>
#include <tapegrad/autograd/detail/op_timer.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/attention/detail/hidden_keys.h>
#include <tapegrad/autograd/ops/attention/flex/detail/flex_call.h>

#include <cmath>
#include <span>
#include <vector>

namespace tapegrad {
namespace {

const Op kFlexAttention{"flex_attention", OpTraits{.twice = false, .tangent = TangentRule::written}};

void require_operands(const Tensor& query, const Tensor& key, const Tensor& value, bool grouped) {
  const Op& op = kFlexAttention;
  require_floating(op.name, {&query, &key, &value});
  const auto shapes = [&] {
    return fmt::format("query {}, key {}, value {}", str(query.shape()), str(key.shape()), str(value.shape()));
  };
  if (query.dim() != 4 || key.dim() != 4 || value.dim() != 4) {
    op.fail(fmt::format("expected four axes for each ([B, H, T, D]), got {}", shapes()));
  }
  const auto differ = [&](int axis, const Tensor& a, const Tensor& b) { return a.size(axis) != b.size(axis); };
  if (differ(0, query, key) || differ(0, key, value) || differ(1, key, value)) {
    op.fail(fmt::format("expected equal batches, and as many heads of values as of keys, got {} (expand() them)",
                        shapes()));
  }
  AttentionOperands{query, key, value}.check(op.name);
  const int64_t heads = query.size(1), of_keys = key.size(1);
  if (grouped ? of_keys == 0 || heads % of_keys != 0 : heads != of_keys) {
    op.fail(fmt::format("expected as many heads of keys as of queries{}, got {}",
                        grouped ? ", or a divisor of it" : " (or enable_gqa)", shapes()));
  }
}

void require_fitting(const BlockMask& mask, const Tensor& query, const Tensor& key) {
  const auto fits = [](int64_t of_mask, int64_t size) { return of_mask == 1 || of_mask == size; };
  if (mask.queries() != query.size(2) || mask.keys() != key.size(2) || !fits(mask.batch(), query.size(0)) ||
      !fits(mask.heads(), query.size(1))) {
    kFlexAttention.fail(fmt::format(
        "expected a block_mask for {} queries and {} keys of {} sequences and {} heads, or of 1, got {}, {}, {}, {}",
        query.size(2), key.size(2), query.size(0), query.size(1), mask.queries(), mask.keys(), mask.batch(),
        mask.heads()));
  }
}

// A result, and what backward needs of its softmax.
struct FlexResult {
  Tensor y, softmax;
};

FlexResult flex_result(const FlexCall& a) {
  const FlexResult to{Tensor::empty({a.query.size(0), a.heads(), a.rows(), a.value.size(3)}, a.query.dtype()),
                      Tensor::empty({2, a.all_heads(), a.rows()}, a.query.dtype())};
  flex_forward(a, to.y, to.softmax);
  return to;
}

Grads flex_gradients(const FlexCall& a, const FlexResult& of, const Tensor& dy) {
  const Tensor dq = zeros(a.query.shape(), dy.dtype()), dk = zeros(a.key.shape(), dy.dtype()),
               dv = zeros(a.value.shape(), dy.dtype());
  flex_backward(a, of.y, of.softmax, packed(dy), dq, dk, dv);
  return {dq * a.scale, dk, dv};
}

Tensor tangent_of(const FlexCall& a, const FlexResult& of, const AttentionTangents& tangents) {
  const auto at = [&](int i, const Tensor& x) {
    return tangents[i].defined() ? packed(tangents[i].detach()) : zeros(x.shape(), x.dtype());
  };
  const Tensor of_y = zeros(of.y.shape(), of.y.dtype());
  flex_tangent(a, of.y, of.softmax, with_operands(a, {at(0, a.query), at(1, a.key), at(2, a.value)}), of_y);
  return of_y;
}

constexpr AttentionFunctions<FlexCall, FlexResult> kFlexFunctions{
    .result = flex_result,
    .gradients = flex_gradients,
    .uniform =
        [](const FlexCall& a) {
          FlexCall b = a;
          b.uniform = true;
          return b;
        },
};

bool hides_keys(const FlexCall& a) { return a.mask.defined() || a.score_mod; }

Tensor finite_tangent_of(const FlexCall& a, const FlexResult& of, const AttentionTangents& tangents) {
  const Tensor given = tangent_of(a, of, tangents);
  if (!hides_keys(a) || all_finite(given)) return given;
  return tangent_of_seen({a.query, a.key, a.value}, tangents, kFlexFunctions.uniform_of(a), given,
                         [&](const AttentionOperands& finite, const AttentionTangents& finite_tangents) {
                           const FlexCall b = with_operands(a, finite);
                           return tangent_of(b, flex_result(b), finite_tangents);
                         });
}

}  // namespace

Tensor flex_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                      const FlexAttentionOptions& options) {
  const OpTimer timer(kFlexAttention, {query, key, value});
  require_operands(query, key, value, options.enable_gqa);
  FlexCall a{.query = query, .key = key, .value = value, .score_mod = options.score_mod, .mask = options.block_mask};
  if (options.mask_mod) {
    if (a.mask.defined()) kFlexAttention.fail("expected a mask_mod or a block_mask, got both");
    a.mask = block_mask(options.mask_mod, a.rows(), a.columns(), {.batch = query.size(0), .heads = query.size(1)});
  }
  if (a.mask.defined()) require_fitting(a.mask, query, key);
  a.scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, query.size(3)))));
  FlexResult to = flex_result(a);
  if (hides_keys(a) && !all_finite(to.y)) to.y = kFlexFunctions.result_of_seen(a, to.y);
  if (!needs_grad(query) && !needs_grad(key) && !needs_grad(value)) return to.y;
  return record(kFlexAttention, to.y, {query, key, value},
                [a, to](const Tensor& dy, const BackwardPass& pass) -> Grads {
                  if (pass.is_forward()) return finite_tangent_of(a, to, {pass.tangents.begin(), pass.tangents.end()});
                  return hides_keys(a) ? kFlexFunctions.backward(a, to, dy) : flex_gradients(a, to, dy);
                });
}

}  // namespace tapegrad
