// Multi-head attention: projections, heads, caches and rotations; the form computes what a query gets from the values.
// Heads are strided views of the projections, never copies.
#include <fmt/ranges.h>
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/attention.h>
#include <tapegrad/nn/detail/check.h>

#include <string>
#include <tuple>

namespace tapegrad::nn {

namespace {

// [B, T, C] -> [B, heads, T, C / heads], a view; and back.
Tensor split_heads(const Tensor& x, int64_t heads) {
  return x.reshape({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}
Tensor join_heads(const Tensor& x) { return x.transpose(1, 2).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)}); }

SelfAttentionConfig tutorial_003(const SelfAttentionConfig& c) {
  constexpr std::string_view kWhere = kAttentionNames.where;
  require_positive(kWhere, "hidden_size", c.d_out);
  require_positive(kWhere, "num_attention_heads", c.num_heads);
  require_divisible(kWhere, "hidden_size", c.d_out, "num_attention_heads", c.num_heads);
  return c;
}

const SelfAttentionConfig& checked(const SelfAttentionConfig& c, std::string_view where) {
  c.check(where);
  return c;
}

AttentionNames self_attention_names(std::string_view where, std::string_view group) {
  AttentionNames names = kSelfAttentionNames;
  names.where = where;
  names.group = group;
  return names;
}

// The names of a module's parameters, as its form has it.
AttentionNames names_for(const AttentionTraits& form, AttentionNames names) {
  if (form.nested) names = self_attention_names(names.where, form.name);
  if (form.shared_keys) names.query = "W_query_key";
  return names;
}

int64_t kv_width_of(const SelfAttentionConfig& c) { return c.kv_heads() * (c.d_out / c.num_heads); }

Optional<Linear> key_projection(const SelfAttentionConfig& c) {
  Optional<Linear> key;
  if (!c.attention.traits().shared_keys) key.emplace(c.d_in, kv_width_of(c), c.qkv_bias);
  return key;
}

// For AttentionPass::seen. In a floating mask, programs write -1e9 or the lowest number instead of -inf, too.
Tensor seen_keys(const AttentionInputs& in) {
  constexpr double kMasked = -1e4;
  const Tensor& mask = in.pass.mask;
  const Tensor given = mask.defined() && mask.dtype() != kBool ? mask.detach() > kMasked : mask;
  if (!in.causal) return given;
  const int64_t queries = in.queries.size(2), keys = in.from.keys.size(2);
  const Tensor earlier = tril(ones({queries, keys}, kBool), std::max<int64_t>(0, keys - queries));
  return given.defined() ? given && earlier : earlier;
}

std::unique_ptr<AttentionForm> form_of(const SelfAttentionConfig& c) {
  return c.attention.make({.heads = c.num_heads,
                           .head_dim = c.d_out / c.num_heads,
                           .length = c.form_length > 0 ? c.form_length : c.context_length,
                           .causal = c.causal});
}

}  // namespace

void SelfAttentionConfig::check(std::string_view where) const {
  require_positive(where, "d_in", d_in);
  require_positive(where, "d_out", d_out);
  require_positive(where, "num_heads", num_heads);
  require_probability(where, "dropout", dropout);
  require(context_length >= 0, where, "expected context_length > 0, or 0 for any length, got {}", context_length);
  require_divisible(where, "d_out", d_out, "num_heads", num_heads);
  kv_width(where, d_out, num_heads, num_kv_heads);
  position_options.check();
  attention.check(relative_kind(positions, position_options), causal, kv_heads() != num_heads);
}

// Members are in the order of their draws.
MultiHeadAttention::MultiHeadAttention(const SelfAttentionConfig& c, const AttentionNames& n)
    : config(checked(c, n.where)),
      names(names_for(c.attention.traits(), n)),
      query(c.d_in, c.d_out, c.qkv_bias),
      key(key_projection(c)),
      value(c.d_in, kv_width_of(c), c.qkv_bias),
      output(c.d_out, c.output_size > 0 ? c.output_size : c.d_out, c.output_bias),
      dropout(c.dropout),
      positions(c.positions, c.d_out / c.num_heads, c.position_options),
      form(form_of(c)) {}

MultiHeadAttention::MultiHeadAttention(const SelfAttentionConfig& c, const Alone& n)
    : MultiHeadAttention(c, self_attention_names(n.where, {})) {
  names.group = {};
}

MultiHeadAttention::MultiHeadAttention(int64_t hidden_size, int64_t num_attention_heads, double dropout_prob,
                                       Positions positions, const PositionOptions& options, int64_t num_kv_heads,
                                       const AttentionChoice& choice, bool causal)
    : MultiHeadAttention(tutorial_003({.d_in = hidden_size,
                                       .d_out = hidden_size,
                                       .num_heads = num_attention_heads,
                                       .dropout = dropout_prob,
                                       .qkv_bias = true,
                                       .causal = causal,
                                       .positions = positions,
                                       .position_options = options,
                                       .num_kv_heads = num_kv_heads,
                                       .attention = choice}),
                         kAttentionNames) {}

void MultiHeadAttention::visit_members(Visitor& field) {
  const std::string prefix = names.group.empty() ? "" : std::string(names.group) + ".";
  const auto named = [&](std::string_view name) { return prefix + std::string(name); };
  field(named(names.query), query);
  field(named(names.key), key);
  field(named(names.value), value);
  field(named(names.output), output);
  field("dropout", dropout);
  positions.visit(field);
  if (names.group.empty()) {
    form.walk(field);
  } else {
    field(names.group, form);
  }
}

std::string MultiHeadAttention::describe_as(std::string_view type, std::string_view names_code) const {
  const SelfAttentionConfig& c = config;
  const SelfAttentionConfig usual;
  std::vector<std::string> members{fmt::format(".d_in = {}", c.d_in), fmt::format(".d_out = {}", c.d_out),
                                   fmt::format(".num_heads = {}", c.num_heads)};
  const auto add = [&](std::string_view name, const auto& value, const auto& otherwise) {
    if (value != otherwise) members.push_back(fmt::format(".{} = {}", name, value));
  };
  if (c.dropout != usual.dropout) members.push_back(fmt::format(".dropout = {:g}", c.dropout));
  add("qkv_bias", c.qkv_bias, usual.qkv_bias);
  add("causal", c.causal, usual.causal);
  if (positions.defined()) members.push_back(fmt::format(".positions = {}", code_of(c.positions)));
  if (c.kv_heads() != c.num_heads) add("num_kv_heads", c.num_kv_heads, 0);
  if (c.attention.name() != usual.attention.name()) {
    members.push_back(fmt::format(".attention = nn::attention_named(\"{}\")", c.attention.name()));
    add("form_length", c.form_length, usual.form_length);
  }
  add("output_size", c.output_size == c.d_out ? 0 : c.output_size, usual.output_size);
  add("output_bias", c.output_bias, usual.output_bias);
  return fmt::format("nn::{}({{{}}}{}{})", type, fmt::join(members, ", "), names_code.empty() ? "" : ", ", names_code);
}

// The short constructor where it makes the same module.
std::string MultiHeadAttention::describe() const {
  const SelfAttentionConfig& c = config;
  const bool same =
      c.d_in == c.d_out && c.qkv_bias && c.output_size == 0 && c.output_bias && c.kv_heads() == c.num_heads;
  if (!same || c.causal || !c.attention.traits().scores)
    return describe_as("MultiHeadAttention", "nn::kAttentionNames");
  return fmt::format("nn::MultiHeadAttention({}, {}, {:g}{})", c.d_in, c.num_heads, c.dropout,
                     positions.defined() ? ", " + code_of(c.positions) : "");
}

// --- checks ---

void MultiHeadAttention::check_input(const Tensor& x, const AttentionPass& pass) const {
  require(x.dim() == 3 && x.size(2) == config.d_in, names.where, "expected x [B, T, {}], got {}", config.d_in,
          x.shape());
  require(pass.each.empty() || std::ssize(pass.each) == x.size(0), names.where,
          "expected one pass for each of the {} rows, got {}", x.size(0), pass.each.size());
  const int64_t length = x.size(1) + (pass.cache ? pass.cache->length() : 0);
  require(config.context_length <= 0 || length <= config.context_length, names.where,
          "a sequence of length {} is longer than context_length {}", length, config.context_length);
}

void MultiHeadAttention::check_inputs(const Tensor& query, const Tensor& key, const Tensor& value) const {
  const AttentionTraits traits = config.attention.traits();
  require(!traits.nested, names.where, "expected one tensor as query, key and value of {} attention, got several",
          traits.name);
  const int64_t width = config.d_in;
  const bool three_axes = query.dim() == 3 && key.dim() == 3 && value.dim() == 3;
  if (three_axes && query.size(2) == width && key.size(2) == width && value.size(2) == width &&
      query.size(0) == key.size(0) && key.size(0) == value.size(0) && key.size(1) == value.size(1)) {
    return;
  }
  fail(names.where, "expected query [B, T, {0}], key [B, S, {0}] and value [B, S, {0}], got {1}, {2} and {3}", width,
       query.shape(), key.shape(), value.shape());
}

void MultiHeadAttention::require_supported(const AttentionPass& pass) const {
  const bool adds = positions.defined() || (pass.positions && pass.positions->bias.defined());
  if (!adds && !pass.cache) return;
  const AttentionTraits traits = config.attention.traits();
  require(!adds || traits.scores, names.where,
          "expected positions that add nothing to the scores (rope, or added to the input) with {} attention, got some "
          "that do",
          traits.name);
  if (pass.cache && !form->no_cache().empty()) {
    fail(names.where, "{} attention takes no cache: {}", traits.name, form->no_cache());
  }
}

// --- a pass ---

// y [B, T, C], projected -> [B, heads, T, head_dim], a view, rotated for RoPE.
Tensor MultiHeadAttention::rotated_heads(const Tensor& y, int64_t heads, const AttentionPass& pass) const {
  return apply_rope(split_heads(y, heads), pass.positions);
}

// Keys and values of the new tokens, [B, kv_heads, S, head_dim], after those that the cache has.
KeysAndValues MultiHeadAttention::with_earlier(const KeysAndValues& fresh, const AttentionPass& pass) const {
  require_supported(pass);
  return pass.cache ? pass.cache->append(pass.layer, fresh) : fresh;
}

// q [B, heads, T, head_dim] -> [B, T, C].
Tensor MultiHeadAttention::mixed(const Tensor& q, const KeysAndValues& from, const AttentionPass& pass) const {
  require_supported(pass);
  const AttentionInputs in{
      .queries = q, .from = from, .pass = pass, .dropout = dropout, .positions = positions, .causal = config.causal};
  if (pass.vectors && !config.attention.traits().nested) *pass.vectors = {q.detach(), from.keys.detach()};
  if (pass.seen) *pass.seen = seen_keys(in);
  return join_heads(form->attend(in));
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const AttentionPass& pass) const {
  check_input(x, pass);
  if (pass.each.empty()) require_supported(pass);
  const int64_t heads = config.num_heads, kv_heads = config.kv_heads();
  Tensor of_q, of_k, of_v;
  if (key) {
    std::tie(of_q, of_k, of_v) = std::tuple_cat(Weight::product_each(x, query, *key, value));
  } else {
    std::tie(of_q, of_v) = std::tuple_cat(Weight::product_each(x, query, value));
  }
  // One pass for the rows that `part` gets of a projection.
  const auto attended = [&](const auto& part, const AttentionPass& with) {
    const Tensor q = rotated_heads(part(of_q), heads, with);
    const Tensor k = key ? rotated_heads(part(of_k), kv_heads, with) : q;
    return mixed(q, with_earlier({k, split_heads(part(of_v), kv_heads)}, with), with);
  };
  if (pass.each.empty()) return output(attended([](const Tensor& t) { return t; }, pass));
  std::vector<Tensor> rows;
  for (std::size_t b = 0; b < pass.each.size(); ++b) {
    rows.push_back(attended([b](const Tensor& t) { return narrow(t, 0, static_cast<int64_t>(b), 1); }, pass.each[b]));
  }
  return output(cat(rows, 0));
}

Tensor MultiHeadAttention::operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                                      const AttentionPass& pass) const {
  if (config.attention.traits().nested && q.same(k) && k.same(v)) return (*this)(q, pass);
  check_inputs(q, k, v);
  const Tensor heads = rotated_heads(query(q), config.num_heads, pass);
  return output(mixed(heads, project_kv(k, v, pass), pass));
}

KeysAndValues MultiHeadAttention::project_kv(const Tensor& k, const Tensor& v, const AttentionPass& pass) const {
  check_inputs(k, k, v);
  const Tensor keys = (*key)(k), values = value(v);
  const int64_t heads = config.kv_heads();
  return with_earlier({rotated_heads(keys, heads, pass), split_heads(values, heads)}, pass);
}

Tensor MultiHeadAttention::attend(const Tensor& q, const KeysAndValues& from, const AttentionPass& pass) const {
  check_inputs(q, q, q);
  return output(mixed(rotated_heads(query(q), config.num_heads, pass), from, pass));
}

}  // namespace tapegrad::nn
