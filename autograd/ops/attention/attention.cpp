// Scaled dot-product attention: checks, groups of heads that share keys, and the choice between the kernels.
#include <fmt/format.h>
#include <tapegrad/autograd/detail/op_timer.h>
#include <tapegrad/autograd/internal/mask_check.h>
#include <tapegrad/autograd/internal/op_path.h>
#include <tapegrad/autograd/internal/tape_watch.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/attention/detail/attention_call.h>
#include <tapegrad/autograd/ops/attention/detail/hidden_keys.h>
#include <tapegrad/autograd/ops/detail/matrices.h>
#include <tapegrad/autograd/ops/detail/rounded.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/tape.h>

#include <cmath>

namespace tapegrad {
namespace {

const RuledOp kAttention{"scaled_dot_product_attention", RowRule::attention};
const detail::OpPath kByHeads{kAttention, "by heads"}, kByBlocks{kAttention, "by blocks of keys"},
    kByLanes{kAttention, "with a head in each lane"};

// A result, the weights if they are wanted, and what attention_by_blocks keeps, if it computed them.
struct Attended {
  Tensor y, weights, softmax;
};

Attended attended(const Attention& a, bool want_weights) {
  Attended to{empty_laid_out_as(with_leading_axes(a.query.detach(), a.batch), a.value.size(-1)), {}, {}};
  if (!want_weights && !a.wants_mask && !a.narrow && suits_blocks(a)) {
    kByBlocks.take();
    to.softmax = Tensor::empty({2, a.heads(), a.rows()}, a.dtype);
    attention_by_blocks(a, to.y, to.softmax);
  } else if (!want_weights && !a.wants_mask && suits_lanes(a)) {
    kByLanes.take();
    attention_by_lanes(a, to.y);
  } else {
    kByHeads.take();
    if (want_weights) to.weights = Tensor::empty(with_axes(a.batch, {a.rows(), a.columns()}), a.dtype);
    attention_by_heads(a, to.y, to.weights);
  }
  return to;
}

Grads fused_backward(const Attention& a, const Attended& of, const Tensor& dy) {
  Shape sums = a.batch;
  if (a.sharing() > 1) sums[-1] = a.sums();
  const Tensor dq = empty_laid_out_as(with_leading_axes(a.query.detach(), a.batch), a.query.size(-1));
  const Tensor dk = empty_laid_out_as(with_leading_axes(a.key.detach(), sums), a.key.size(-1));
  const Tensor dv = empty_laid_out_as(with_leading_axes(a.value.detach(), sums), a.value.size(-1));
  if (of.softmax.defined()) {
    attention_by_blocks_backward(a, of.y, of.softmax, dy, dq, dk, dv);
    return {dq, dk, dv, Tensor()};
  }
  if (!a.wants_mask && suits_lanes(a) && dy.strides()[-1] == 1) {
    attention_by_lanes_backward(a, dy, dq, dk, dv);
    return {dq, dk, dv, Tensor()};
  }
  const Tensor dscores = a.wants_mask ? Tensor::empty(a.mask.shape(), dy.dtype()) : Tensor();
  attention_by_heads_backward(a, dy, dq, dk, dv, dscores);
  return {dq, dk, dv, dscores};
}

constexpr AttentionFunctions<Attention, Attended> kAttentionFunctions{
    .result = [](const Attention& a) { return attended(a, false); },
    .gradients = fused_backward,
    .uniform =
        [](const Attention& a) {
          Attention b = a;
          b.keep = {};
          b.narrow = b.wants_mask = false;
          if (b.mask.defined() && b.mask.dtype() != kBool) {
            b.mask = b.mask.detach() != -std::numeric_limits<double>::infinity();
          }
          return b;
        },
    .recorded = composed_backward,
};

bool hides_keys(const Attention& a) { return a.mask.defined() || a.causal; }

Grads attention_backward(const Attention& a, const Attended& of, const Tensor& dy) {
  if (hides_keys(a)) return kAttentionFunctions.backward(a, of, dy);
  return Tape::current() ? composed_backward(a, dy) : fused_backward(a, of, dy);
}

Tensor attention_tangent(const Attention& a, const AttentionTangents& tangents) {
  const Tensor given = composed_tangent(a, tangents);
  if (!hides_keys(a) || is_all_finite(given)) return given;
  return tangent_of_seen({a.query, a.key, a.value}, tangents, kAttentionFunctions.uniform_of(a), given,
                         [&](const AttentionOperands& finite, const AttentionTangents& finite_tangents) {
                           return composed_tangent(with_operands(a, finite), finite_tangents);
                         });
}

// A result that is not finite: queries that see no NaN keep finite rows.
void without_hidden_keys(const Attention& a, Attended& to) {
  const auto again = [&](const AttentionOperands& finite) {
    const Attended of = attended(with_operands(a, finite), to.weights.defined());
    return std::vector<Tensor>{of.y, of.weights};
  };
  const std::vector<Tensor> results =
      results_of_seen({a.query, a.key, a.value}, kAttentionFunctions.uniform_of(a), {to.y, to.weights}, again);
  to.y = results[0], to.weights = results[1];
}

// The result, and the weights if they are wanted.
std::pair<Tensor, Tensor> attend(const Tensor& query, const Tensor& key, const Tensor& value,
                                 const AttentionOptions& options, bool want_weights) {
  const OpTimer timer(kAttention, {query, key, value, options.mask});
  AttentionOperands{query, key, value}.check(kAttention.name);
  require_probability(kAttention.name, "dropout", options.dropout);
  Attention a;
  const auto lead = [](const Tensor& x) { return leading_axes(x); };
  a.batch = broadcast(kAttention.name, broadcast(kAttention.name, lead(query), lead(key)), lead(value));
  a.dtype = query.dtype();
  a.narrow = multiplies_rounded(query, key);
  const bool keeps =
      a.narrow && (needs_grad(query) || needs_grad(key) || needs_grad(value) || needs_grad(options.mask));
  a.query = keeps ? rounded(query) : query;
  a.key = keeps ? rounded(key) : key;
  a.value = keeps ? rounded(value) : value;
  const Shape cells = with_axes(a.batch, {a.rows(), a.columns()});
  if (options.mask.defined()) {
    Tensor mask = options.mask;
    if (is_integer(mask.dtype())) {
      kAttention.fail(
          fmt::format("expected a mask of bools (true: may be attended to) or floats (added to the scores), got {}",
                      name(mask.dtype())));
    }
    require_mask_of_scores(kAttention.name, mask);
    if (mask.dtype() != kBool) mask = mask.to(query.dtype());
    if (!broadcasts_to(mask.shape(), cells)) {
      kAttention.fail(
          fmt::format("expected a mask that broadcasts to the scores {}, got {}", str(cells), str(mask.shape())));
    }
    a.mask = mask.shape() == cells ? mask : mask.expand(cells);
  }
  a.scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, query.size(-1)))));
  a.causal = options.causal;
  if (options.training && options.dropout > 0 && cells.numel() > 0) {
    a.keep = PackedDropoutMask(cells.numel(), 1 - options.dropout,
                               options.generator ? *options.generator : default_generator());
    if (options.dropout < 1) a.keep_probability = 1 - options.dropout;
  }
  if (const TapeWatch* const watch = TapeWatch::current(); watch && watch->plain_attention() && !a.keep) {
    const Tensor weights = composed_weights(a);
    return {matmul_of(weights, a.value, a.narrow), weights.detach()};
  }
  a.wants_mask = needs_grad(a.mask);
  Attended to = attended(a, want_weights);
  if (hides_keys(a) && !is_all_finite(to.y)) without_hidden_keys(a, to);
  const auto& [y, weights, softmax] = to;
  if (!a.wants_mask && !needs_grad(a.query) && !needs_grad(a.key) && !needs_grad(a.value)) return {y, weights};
  return {record(kAttention, y, {a.query, a.key, a.value, a.mask},
                 [a, of = Attended{kept_if(softmax.defined(), y), {}, softmax}](const Tensor& dy,
                                                                                const BackwardPass& pass) {
                   if (pass.is_forward())
                     return Grads(attention_tangent(a, {pass.tangents.begin(), pass.tangents.end()}));
                   return attention_backward(a, of, dy);
                 }),
          weights};
}

// [..., H, a, b] -> [..., H / size, size, a, b], without a copy.
Tensor in_groups(const Tensor& x, int64_t size) {
  Shape shape = x.shape();
  shape[-3] /= size;
  shape.insert(shape.rank() - 2, size);
  return x.reshape(shape);
}

// Query heads that share a head of keys become an axis over which the keys broadcast.
std::pair<Tensor, Tensor> attend_in_groups(const Tensor& query, const Tensor& key, const Tensor& value,
                                           const AttentionOptions& options, bool want_weights) {
  require_floating(kAttention.name, {&query, &key, &value});
  const auto heads = [](const Tensor& x) { return x.dim() < 3 ? int64_t{0} : x.size(-3); };
  if (heads(key) == 0 || heads(key) != heads(value) || heads(query) % heads(key) != 0) {
    kAttention.fail(fmt::format(
        "expected query [..., H, T, D], key and value with K heads, where K divides H, for enable_gqa, got query "
        "{}, key {}, value {}",
        str(query.shape()), str(key.shape()), str(value.shape())));
  }
  const int64_t size = std::max<int64_t>(1, heads(query) / heads(key));
  AttentionOptions grouped = options;
  const Tensor& mask = options.mask;
  if (mask.defined() && mask.dim() >= 3) {
    const bool fits = mask.size(-3) == 1 || mask.size(-3) == heads(query);
    if (!fits) {
      kAttention.fail(
          fmt::format("expected a mask for {} heads or for all of them, got {}", heads(query), str(mask.shape())));
    }
    grouped.mask = in_groups(mask, mask.size(-3) == 1 ? 1 : size);
  }
  const bool mask_fits = !mask.defined() || mask.dim() < 2 || mask.size(-2) == 1;
  if (query.size(-2) == 1 && mask_fits) {
    // One query per head, as in decoding: those of a group are the rows of one product with their keys.
    grouped.causal = false;  // the only query sees every key
    if (mask.defined() && mask.dim() >= 3) grouped.mask = grouped.mask.squeeze(-2);
    auto [y, weights] = attend(in_groups(query, size).squeeze(-2), key, value, grouped, want_weights);
    if (weights.defined()) weights = weights.flatten(-3, -2).unsqueeze(-2);
    return {y.flatten(-3, -2).unsqueeze(-2), weights};
  }
  auto [y, weights] = attend(in_groups(query, size), in_groups(key, 1), in_groups(value, 1), grouped, want_weights);
  if (weights.defined()) weights = weights.flatten(-4, -3);
  return {y.flatten(-4, -3), weights};
}

std::pair<Tensor, Tensor> attend_as_asked(const Tensor& query, const Tensor& key, const Tensor& value,
                                          const AttentionOptions& options, bool want_weights) {
  return options.enable_gqa ? attend_in_groups(query, key, value, options, want_weights)
                            : attend(query, key, value, options, want_weights);
}

}  // namespace

std::pair<Tensor, Tensor> attention_with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                                 const AttentionOptions& options) {
  return attend_as_asked(query, key, value, options, true);
}

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options) {
  return attend_as_asked(query, key, value, options, false).first;
}

}  // namespace tapegrad
