// PyTorch's nn.MultiheadAttention.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/attention/detail/form.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/multihead_attention.h>

#include <tuple>
#include <vector>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kMultiheadAttention = "multihead_attention";

int64_t checked_width(int64_t embed_dim, int64_t heads) {
  require_positive(kMultiheadAttention, "embed_dim", embed_dim);
  require_positive(kMultiheadAttention, "num_heads", heads);
  require_divisible(kMultiheadAttention, "embed_dim", embed_dim, "num_heads", heads);
  return embed_dim;
}

// A mask of PyTorch's, of shape `expected`, as one of the scores [N, heads, T, S + more]: true is visible. The keys
// that the module adds are not hidden.
Tensor mask_of_scores(std::string_view name, const Tensor& mask, const Shape& expected, const Shape& as, int64_t more) {
  if (!mask.defined()) return {};
  const bool typed = mask.dtype() == kBool || is_floating(mask.dtype());
  require(typed && mask.shape() == expected, kMultiheadAttention,
          "expected {}, bool (true: hidden) or floating, of shape {}, got {} {}", name, expected, mask.dtype(),
          mask.shape());
  const Tensor y = more ? pad(mask.reshape(as), {0, more}) : mask.reshape(as);
  return mask.dtype() == kBool ? !y : y;
}

Tensor joined(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() ? a : b;
  if (a.dtype() == kBool) return detail::restrict_mask(b, a);
  return b.dtype() == kBool ? detail::restrict_mask(a, b) : a + b;
}

// Both masks of a pass over scores [n, heads, t, s], where `more` keys are the module's own.
Tensor mask_of(const MultiheadPass& pass, int64_t n, int64_t heads, int64_t t, int64_t s, int64_t more, bool batched) {
  const Tensor keys =
      mask_of_scores("key_padding_mask", pass.key_padding_mask, batched ? Shape{n, s} : Shape{s}, {n, 1, 1, s}, more);
  const bool each = pass.attn_mask.defined() && pass.attn_mask.dim() == 3;
  return joined(keys, mask_of_scores("attn_mask", pass.attn_mask, each ? Shape{n * heads, t, s} : Shape{t, s},
                                     each ? Shape{n, heads, t, s} : Shape{1, 1, t, s}, more));
}

Tensor with_rows(const Tensor& x, const Tensor& row, const Shape& shape) {  // the row after the others, axis 1
  return row.defined() ? cat({x, row.expand(shape)}, 1) : x;
}

}  // namespace

MultiheadAttention::MultiheadAttention(int64_t embed_dim, int64_t num_heads, const MultiheadAttentionOptions& options)
    : embed_dim(checked_width(embed_dim, num_heads)),
      num_heads(num_heads),
      add_zero_attn(options.add_zero_attn),
      batch_first(options.batch_first),
      out_proj(embed_dim, embed_dim, options.bias),
      dropout(options.dropout) {
  const int64_t e = embed_dim, kdim = options.kdim ? options.kdim : e, vdim = options.vdim ? options.vdim : e;
  require_positive(kMultiheadAttention, "kdim", kdim);
  require_positive(kMultiheadAttention, "vdim", vdim);
  const auto make = [](Parameter& p, const Shape& shape, auto initialise) {
    p = Parameter(init::blank(shape));
    initialise(p);
  };
  const auto uniform = [](Parameter& p) { init::xavier_uniform(p); };
  if (kdim == e && vdim == e) {
    make(in_proj_weight, {3 * e, e}, uniform);
  } else {
    make(q_proj_weight, {e, e}, uniform);
    make(k_proj_weight, {e, kdim}, uniform);
    make(v_proj_weight, {e, vdim}, uniform);
  }
  if (options.bias) {
    make(in_proj_bias, {3 * e}, init::zeros);
    init::zeros(out_proj.bias);
  }
  if (!options.add_bias_kv) return;
  for (Parameter* const p : {&bias_k, &bias_v}) make(*p, {1, 1, e}, [](Parameter& row) { init::xavier_normal(row); });
}

// -> query, key and value, projected to E.
std::array<Tensor, 3> MultiheadAttention::project(const Tensor& q, const Tensor& k, const Tensor& v) const {
  if (in_proj_weight.defined() && q.same(k) && k.same(v)) {
    const std::vector<Tensor> parts = chunk(linear(q, in_proj_weight, in_proj_bias), 3, -1);
    return {parts[0], parts[1], parts[2]};
  }
  const Parameter* const own[] = {&q_proj_weight, &k_proj_weight, &v_proj_weight};
  const auto part = [&](const Tensor& x, int i) {
    const Tensor w = in_proj_weight.defined() ? narrow(in_proj_weight, 0, i * embed_dim, embed_dim) : own[i]->tensor();
    return linear(x, w, in_proj_bias.defined() ? narrow(in_proj_bias, 0, i * embed_dim, embed_dim) : Tensor());
  };
  return {part(q, 0), part(k, 1), part(v, 2)};
}

Tensor MultiheadAttention::operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const MultiheadPass& pass) const {
  const bool batched = query.dim() == 3, swap = batched && !batch_first;
  const int64_t of_k = k_proj_weight.defined() ? k_proj_weight->size(1) : embed_dim;
  const int64_t of_v = v_proj_weight.defined() ? v_proj_weight->size(1) : embed_dim;
  const auto fits = [&](const Tensor& x, int64_t width) { return x.dim() == query.dim() && x.size(-1) == width; };
  const int seq = swap ? 0 : -2, batch = swap ? 1 : 0;
  if (query.dim() < 2 || query.dim() > 3 || !fits(query, embed_dim) || !fits(key, of_k) || !fits(value, of_v) ||
      key.size(seq) != value.size(seq) ||
      (batched && (key.size(batch) != query.size(batch) || value.size(batch) != query.size(batch)))) {
    fail_near(out_proj.weight, kMultiheadAttention,
              fmt::format("expected {} [.., {}], [.., {}] and [.., {}], got query {}, key {}, value {}",
                          batch_first ? "[N, T, E], batch first," : "[T, N, E], batch second,", embed_dim, of_k, of_v,
                          str(query.shape()), str(key.shape()), str(value.shape())));
  }
  auto [q, k, v] = project(query, key, value);
  const int64_t n = batched ? query.size(batch) : 1, t = query.size(seq), s = key.size(seq),
                head = embed_dim / num_heads;
  const auto rows = [&](const Tensor& x) { return swap ? x.transpose(0, 1) : batched ? x : x.unsqueeze(0); };
  const auto heads = [&](const Tensor& x) { return unflatten(x, -1, {num_heads, head}).transpose(1, 2); };
  q = heads(rows(q));                                        // [N, heads, T, head]
  k = heads(with_rows(rows(k), bias_k, {n, 1, embed_dim}));  // [N, heads, S + more, head]
  v = heads(with_rows(rows(v), bias_v, {n, 1, embed_dim}));
  if (add_zero_attn) k = pad(k, {0, 0, 0, 1}), v = pad(v, {0, 0, 0, 1});
  const AttentionOptions options{.mask = mask_of(pass, n, num_heads, t, s, k.size(2) - s, batched),
                                 .dropout = dropout.p,
                                 .training = dropout.training};
  Tensor y;
  if (pass.weights) {
    Tensor w;
    std::tie(y, w) = attention_with_weights(q, k, v, options);
    if (pass.average_attn_weights) w = mean(w, 1);
    *pass.weights = (batched ? w : w.squeeze(0)).detach();
  } else {
    y = scaled_dot_product_attention(q, k, v, options);
  }
  y = out_proj(y.transpose(1, 2).reshape({n, t, embed_dim}));
  return swap ? y.transpose(0, 1) : batched ? y : y.squeeze(0);
}

}  // namespace tapegrad::nn
