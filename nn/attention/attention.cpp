// Multi-head attention of queries to keys and values of the same width.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/attention.h>
#include <tapegrad/nn/attention/detail/attention_core.h>
#include <tapegrad/nn/detail/check.h>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kWhere = "multi_head_attention";

int64_t checked(int64_t hidden_size, int64_t heads) {
  require_positive(kWhere, "hidden_size", hidden_size);
  require_positive(kWhere, "num_attention_heads", heads);
  require_divisible(kWhere, "hidden_size", hidden_size, "num_attention_heads", heads);
  return hidden_size;
}

void check_inputs(const Tensor& query, const Tensor& key, const Tensor& value, int64_t hidden_size) {
  const bool three_axes = query.dim() == 3 && key.dim() == 3 && value.dim() == 3;
  if (three_axes && query.size(2) == hidden_size && key.size(2) == hidden_size && value.size(2) == hidden_size &&
      query.size(0) == key.size(0) && key.size(0) == value.size(0) && key.size(1) == value.size(1)) {
    return;
  }
  fail(kWhere, fmt::format("expected query [B, T, {0}], key [B, S, {0}] and value [B, S, {0}], got {1}, {2} and {3}",
                           hidden_size, str(query.shape()), str(key.shape()), str(value.shape())));
}

// Query, key, value, output; none of them if the form of attention has its own.
std::array<Linear, 4> projections(int64_t hidden_size, int64_t heads, int64_t kv_heads, const AttentionChoice& choice) {
  checked(hidden_size, heads);
  const int64_t width = kv_width(kWhere, hidden_size, heads, kv_heads);
  if (choice.is_module()) {
    return {};
  }
  return {Linear(hidden_size, hidden_size), Linear(hidden_size, width), Linear(hidden_size, width),
          Linear(hidden_size, hidden_size)};
}

// Error for a form of attention that cannot take keys and values separately from the queries.
void require_separate(const MultiHeadAttention& a) {
  if (a.long_attention.defined()) {
    fail(kWhere, fmt::format("{} attention is for self-attention: query, key and value must be one tensor",
                             name(a.choice.kind)));
  }
}

detail::AttentionCore core_of(const MultiHeadAttention& a) {
  const auto& [query, key, value, output] = a.linear_layers;
  return {.query = query,
          .key = key,
          .value = value,
          .output = output,
          .dropout = a.dropout,
          .positions = a.positions,
          .heads = a.num_attention_heads,
          .kv_heads = a.num_kv_heads,
          .choice = a.choice,
          .causal = a.causal};
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(int64_t hidden_size, int64_t num_attention_heads, double dropout_prob,
                                       Positions positions, const PositionOptions& options, int64_t num_kv_heads,
                                       const AttentionChoice& choice, bool causal)
    : linear_layers(projections(hidden_size, num_attention_heads, num_kv_heads, choice)),
      dropout(dropout_prob),
      num_attention_heads(num_attention_heads),
      num_kv_heads(num_kv_heads > 0 ? num_kv_heads : num_attention_heads),
      positions(positions, hidden_size / num_attention_heads, options),
      choice(choice),
      causal(causal),
      long_attention(choice, {.d_in = hidden_size,
                              .d_out = hidden_size,
                              .num_heads = num_attention_heads,
                              .dropout = dropout_prob,
                              .qkv_bias = true,
                              .causal = causal}) {
  choice.check(relative_kind(positions, options), causal, num_kv_heads > 0 && num_kv_heads != num_attention_heads);
}

Tensor MultiHeadAttention::operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const AttentionPass& pass) const {
  if (long_attention.defined() && query.same(key) && key.same(value)) return long_attention(query, pass);
  require_separate(*this);
  check_inputs(query, key, value, linear_layers[0].weight->size(0));
  const detail::AttentionCore core = core_of(*this);
  const Tensor q = core.project_query(query, pass);
  return core.attend(q, core.project_kv(key, value, pass), pass);
}

KeysAndValues MultiHeadAttention::project_kv(const Tensor& key, const Tensor& value, const AttentionPass& pass) const {
  require_separate(*this);
  check_inputs(key, key, value, linear_layers[0].weight->size(0));
  return core_of(*this).project_kv(key, value, pass);
}

Tensor MultiHeadAttention::attend(const Tensor& query, const KeysAndValues& from, const AttentionPass& pass) const {
  require_separate(*this);
  check_inputs(query, query, query, linear_layers[0].weight->size(0));
  const detail::AttentionCore core = core_of(*this);
  return core.attend(core.project_query(query, pass), from, pass);
}

}  // namespace tapegrad::nn
