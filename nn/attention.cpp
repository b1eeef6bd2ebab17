// Attention of several heads: the heads are strided views of the projections, never copies.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/attention.h>
#include <tapegrad/nn/check.h>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kWhere = "multi_head_attention";

std::int64_t checked(std::int64_t hidden_size, std::int64_t heads) {
  require_positive(kWhere, "hidden_size", hidden_size);
  require_positive(kWhere, "num_attention_heads", heads);
  if (hidden_size % heads != 0) {
    fail(kWhere,
         fmt::format("hidden_size {} is not divisible by num_attention_heads {} (each head takes an equal share)",
                     hidden_size, heads));
  }
  return hidden_size;
}

void check_inputs(const Tensor& query, const Tensor& key, const Tensor& value, std::int64_t hidden_size) {
  const bool three_axes = query.dim() == 3 && key.dim() == 3 && value.dim() == 3;
  if (three_axes && query.size(2) == hidden_size && key.size(2) == hidden_size && value.size(2) == hidden_size &&
      query.size(0) == key.size(0) && key.size(0) == value.size(0) && key.size(1) == value.size(1)) {
    return;
  }
  fail(kWhere,
       fmt::format("query {}, key {}, value {}: [B, T, {}], [B, S, {}] and [B, S, {}] are needed", str(query.shape()),
                   str(key.shape()), str(value.shape()), hidden_size, hidden_size, hidden_size));
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(std::int64_t hidden_size, std::int64_t num_attention_heads, double dropout_prob)
    : linear_layers{Linear(checked(hidden_size, num_attention_heads), hidden_size), Linear(hidden_size, hidden_size),
                    Linear(hidden_size, hidden_size), Linear(hidden_size, hidden_size)},
      dropout(dropout_prob),
      num_attention_heads(num_attention_heads) {}

Tensor MultiHeadAttention::operator()(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                                      Tensor* weights) const {
  const std::int64_t hidden_size = linear_layers[0].weight->size(0);
  check_inputs(query, key, value, hidden_size);
  // [B, T, C] -> [B, heads, T, head_dim]
  const auto heads = [&](const Linear& project, const Tensor& x) {
    return project(x)
        .reshape({x.size(0), x.size(1), num_attention_heads, hidden_size / num_attention_heads})
        .transpose(1, 2);
  };
  const Tensor q = heads(linear_layers[0], query);
  const Tensor k = heads(linear_layers[1], key);
  const Tensor v = heads(linear_layers[2], value);
  auto [mixed, seen] =
      attention_with_weights(q, k, v, {.mask = mask, .dropout = dropout.p, .training = dropout.training});
  if (weights) *weights = seen.detach();
  return linear_layers[3](mixed.transpose(1, 2).reshape({query.size(0), query.size(1), hidden_size}));
}

}  // namespace tapegrad::nn
