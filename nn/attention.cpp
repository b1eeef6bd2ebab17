// Attention of several heads: the heads are strided views of the projections, never copies.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/attention.h>
#include <tapegrad/nn/detail/check.h>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kWhere = "multi_head_attention";

int64_t checked(int64_t hidden_size, int64_t heads) {
  require_positive(kWhere, "hidden_size", hidden_size);
  require_positive(kWhere, "num_attention_heads", heads);
  if (hidden_size % heads != 0) {
    fail(kWhere,
         fmt::format("hidden_size {} is not divisible by num_attention_heads {} (each head takes an equal share)",
                     hidden_size, heads));
  }
  return hidden_size;
}

void check_inputs(const Tensor& query, const Tensor& key, const Tensor& value, int64_t hidden_size) {
  const bool three_axes = query.dim() == 3 && key.dim() == 3 && value.dim() == 3;
  if (three_axes && query.size(2) == hidden_size && key.size(2) == hidden_size && value.size(2) == hidden_size &&
      query.size(0) == key.size(0) && key.size(0) == value.size(0) && key.size(1) == value.size(1)) {
    return;
  }
  fail(kWhere,
       fmt::format("query {}, key {}, value {}: [B, T, {}], [B, S, {}] and [B, S, {}] are needed", str(query.shape()),
                   str(key.shape()), str(value.shape()), hidden_size, hidden_size, hidden_size));
}

// [B, T, C] -> [B, heads, T, head_dim]
Tensor heads_of(const MultiHeadAttention& a, std::size_t layer, const Tensor& x) {
  return a.linear_layers[layer](x)
      .reshape({x.size(0), x.size(1), a.num_attention_heads, x.size(2) / a.num_attention_heads})
      .transpose(1, 2);
}

KeysAndValues projected(const MultiHeadAttention& a, const Tensor& key, const Tensor& value,
                        const PositionTerms* positions) {
  Tensor k = rotated(heads_of(a, 1, key), positions);
  return {std::move(k), heads_of(a, 2, value)};
}

// q [B, heads, T, head_dim] -> [B, T, C]
Tensor mixed(const MultiHeadAttention& a, const Tensor& q, const KeysAndValues& from, const Tensor& mask,
             Tensor* weights, const PositionTerms* positions) {
  const AttentionOptions options{.mask = mask, .dropout = a.dropout.p, .training = a.dropout.training};
  const Tensor y = positioned_attention(q, from.keys, from.values, options, positions, a.shaw, weights);
  return a.linear_layers[3](y.transpose(1, 2).reshape({q.size(0), q.size(2), q.size(1) * q.size(3)}));
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(int64_t hidden_size, int64_t num_attention_heads, double dropout_prob,
                                       Positions positions, const PositionOptions& options)
    : linear_layers{Linear(checked(hidden_size, num_attention_heads), hidden_size), Linear(hidden_size, hidden_size),
                    Linear(hidden_size, hidden_size), Linear(hidden_size, hidden_size)},
      dropout(dropout_prob),
      num_attention_heads(num_attention_heads) {
  if (positions != Positions::shaw) return;
  shaw = ShawPositions(options.shaw_distance, hidden_size / num_attention_heads, options.shaw_values);
}

Tensor MultiHeadAttention::operator()(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                                      Tensor* weights, const PositionTerms* positions) const {
  check_inputs(query, key, value, linear_layers[0].weight->size(0));
  const Tensor q = rotated(heads_of(*this, 0, query), positions);
  return mixed(*this, q, projected(*this, key, value, positions), mask, weights, positions);
}

KeysAndValues MultiHeadAttention::project(const Tensor& key, const Tensor& value,
                                          const PositionTerms* positions) const {
  check_inputs(key, key, value, linear_layers[0].weight->size(0));
  return projected(*this, key, value, positions);
}

Tensor MultiHeadAttention::attend(const Tensor& query, const KeysAndValues& from, const Tensor& mask, Tensor* weights,
                                  const PositionTerms* positions) const {
  check_inputs(query, query, query, linear_layers[0].weight->size(0));
  return mixed(*this, rotated(heads_of(*this, 0, query), positions), from, mask, weights, positions);
}

}  // namespace tapegrad::nn
