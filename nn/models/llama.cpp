// Llama: configuration, blocks, and the whole model.
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/llama.h>
#include <tapegrad/nn/models/detail/presets.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kLlamaConfig = "llama_config";
constexpr std::string_view kRopeTypes[] = {"default", "linear", "llama3", "dynamic", "yarn"};

// Layers start as in Hugging Face's models.
void start(Linear& layer, const LlamaConfig& c) {
  init::normal(layer.weight, 0, c.initializer_range);
  if (layer.bias.defined()) init::zeros(layer.bias);
}

Linear llama_linear(const LlamaConfig& c, int64_t in, int64_t out, bool bias) {
  Linear layer = [&] {
    const init::Skip skip;
    return Linear(in, out, bias);
  }();
  start(layer, c);
  return layer;
}

}  // namespace

// --- configuration ---

std::string_view rope_type_name(RopeScaling::Kind kind) { return kRopeTypes[static_cast<std::size_t>(kind)]; }

void RopeScaling::list(Fields& f) {
  f.add_named({.name = "rope_type", .help = "how RoPE's angles are slowed down"}, kind, kRopeTypes);
  f.add("factor", "by how much", factor, {.least = 1}, kind != Kind::none);
  const bool yarn = kind == Kind::yarn, mixes = kind == Kind::llama3 || yarn;
  f.add("low_freq_factor", "llama3, yarn: pairs that rotate less often are slowed down by the factor", low, kPositive,
        mixes);
  f.add("high_freq_factor", "llama3, yarn: pairs that rotate more often are not slowed down", high, kPositive, mixes);
  f.add("original_max_position_embeddings", "llama3, yarn: length in which these rotations are counted", trained_length,
        kPositive, mixes);
  f.add("attention_factor", "yarn: factor of cosines and sines", attention, kPositive, yarn);
  f.add("truncate", "yarn: the mixture begins and ends at whole indices of pairs", whole_pairs, {}, yarn);
}

void LlamaConfig::list(Fields& f) {
  f.add("vocab_size", "number of tokens", vocab_size, kPositive);
  f.add("hidden_size", "width of the model", hidden_size, kPositive);
  f.add("intermediate_size", "width inside the feed-forward blocks", intermediate_size, kPositive);
  f.add("num_hidden_layers", "number of blocks", num_hidden_layers, kPositive);
  f.add("num_attention_heads", "heads per attention", num_attention_heads, kPositive);
  f.add("num_key_value_heads", "heads of keys and values, each shared by a group of queries", num_key_value_heads,
        kNotNegative)
      .special = "0: as many as query heads";
  f.add("head_dim", "size of a head", head_dim, kNotNegative).special = "0: an equal share";
  f.add("max_position_embeddings", "longest sequence of tokens that the model accepts", max_position_embeddings,
        kPositive);
  f.add("rms_norm_eps", "added to the mean square in RMSNorm", rms_norm_eps, kNotNegative);
  f.add("rope_theta", "base of RoPE's angles", rope_theta, {.least = 1, .open_below = true});
  f.add("attention_dropout", "dropout probability of attention weights", attention_dropout, kShare);
  f.add("attention_bias", "biases on attention's projections", attention_bias);
  f.add("mlp_bias", "biases in the feed-forward blocks", mlp_bias);
  f.add("tie_word_embeddings", "the output head shares the weight of the token embedding", tie_word_embeddings);
  f.add("initializer_range", "standard deviation of the initial weights", initializer_range, kPositive);
}

void LlamaConfig::check() const {
  check_fields(kLlamaConfig, *this);
  if (head_dim == 0)
    require_divisible(kLlamaConfig, "hidden_size", hidden_size, "num_attention_heads", num_attention_heads);
  require(num_key_value_heads >= 0 && num_attention_heads % kv_heads() == 0, kLlamaConfig,
          "expected num_key_value_heads that divides num_attention_heads {}, got {}", num_attention_heads,
          num_key_value_heads);
  if (head_size() < 2 || head_size() % 2 != 0) {
    fail(kLlamaConfig, "expected heads of an even size for rope, got {}", head_size());
  }
  const RopeScaling& s = rope_scaling;
  check_fields(kLlamaConfig, s);
  if ((s.kind == RopeScaling::Kind::llama3 || s.kind == RopeScaling::Kind::yarn) && !(s.high > s.low)) {
    fail(kLlamaConfig, "expected 0 < low_freq_factor < high_freq_factor, got {} and {}", s.low, s.high);
  }
}

int64_t LlamaConfig::parameter_count() const {
  return detail::counted<LlamaModel>(*this, &LlamaConfig::num_hidden_layers);
}

namespace {

// How much of its speed each pair keeps under YaRN: 1 for the pairs before the one that rotates `high` times within
// trained_length, 0 after the one that rotates `low` times, and a line in between.
std::vector<double> kept_of_yarn(const LlamaConfig& config) {
  const RopeScaling& s = config.rope_scaling;
  const auto size = static_cast<double>(config.head_size());
  const auto pair_that_rotates = [&](double times) {
    const double length = static_cast<double>(s.trained_length) / (times * 2 * std::numbers::pi);
    return size * fixed::log(length) / (2 * fixed::log(config.rope_theta));
  };
  double first = pair_that_rotates(s.high), last = pair_that_rotates(s.low);
  if (s.whole_pairs) first = std::floor(first), last = std::ceil(last);
  first = std::max(first, 0.0), last = std::min(last, size - 1);
  if (first == last) last += 0.001;
  std::vector<double> kept;
  for (int64_t i = 0; i < config.head_size() / 2; ++i)
    kept.push_back(1 - std::clamp((static_cast<double>(i) - first) / (last - first), 0.0, 1.0));
  return kept;
}

}  // namespace

std::vector<double> rope_speeds(const LlamaConfig& config) {
  std::vector<double> speeds = rope_speeds(config.head_size(), config.rope_theta);
  const RopeScaling& s = config.rope_scaling;
  if (s.kind == RopeScaling::Kind::yarn) {
    const std::vector<double> kept = kept_of_yarn(config);
    for (std::size_t i = 0; i < speeds.size(); ++i) speeds[i] *= kept[i] + (1 - kept[i]) / s.factor;
  }
  for (double& speed : speeds) {
    if (s.kind == RopeScaling::Kind::linear) speed /= s.factor;
    if (s.kind != RopeScaling::Kind::llama3) continue;
    const double turns = static_cast<double>(s.trained_length) * speed / (2 * std::numbers::pi);
    const double kept = std::clamp((turns - s.low) / (s.high - s.low), 0.0, 1.0);  // of the speed
    speed = kept * speed + (1 - kept) * speed / s.factor;
  }
  return speeds;
}

// --- parts ---

namespace {

MultiHeadAttention attention_of(const LlamaConfig& c) {
  const init::Skip skip;
  return MultiHeadAttention({.d_in = c.hidden_size,
                             .d_out = c.num_attention_heads * c.head_size(),
                             .num_heads = c.num_attention_heads,
                             .dropout = c.attention_dropout,
                             .qkv_bias = c.attention_bias,
                             .num_kv_heads = c.kv_heads(),
                             .output_size = c.hidden_size,
                             .output_bias = c.attention_bias},
                            kLlamaNames);
}

}  // namespace

LlamaAttention::LlamaAttention(const LlamaConfig& c) : MultiHeadAttention(attention_of(c)) {
  for (Linear* layer : {&query, &*key, &value, &output}) start(*layer, c);
}

LlamaMLP::LlamaMLP(const LlamaConfig& c)
    : gate_proj(llama_linear(c, c.hidden_size, c.intermediate_size, c.mlp_bias)),
      up_proj(llama_linear(c, c.hidden_size, c.intermediate_size, c.mlp_bias)),
      down_proj(llama_linear(c, c.intermediate_size, c.hidden_size, c.mlp_bias)) {}

Tensor LlamaMLP::operator()(const Tensor& x) const { return down_proj(silu(gate_proj(x)) * up_proj(x)); }

// The members of a LlamaConfig that the part reads.
std::string LlamaAttention::describe() const {
  const SelfAttentionConfig& c = config;
  std::string code = fmt::format(".hidden_size = {}, .num_attention_heads = {}", c.d_in, c.num_heads);
  if (c.kv_heads() != c.num_heads) code += fmt::format(", .num_key_value_heads = {}", c.kv_heads());
  if (c.d_out != c.d_in) code += fmt::format(", .head_dim = {}", c.d_out / c.num_heads);
  if (c.dropout > 0) code += fmt::format(", .attention_dropout = {:g}", c.dropout);
  return fmt::format("nn::LlamaAttention({{{}{}}})", code, c.qkv_bias ? ", .attention_bias = true" : "");
}

std::string LlamaMLP::describe() const {
  return fmt::format("nn::LlamaMLP({{.hidden_size = {}, .intermediate_size = {}{}}})", gate_proj.weight.inputs(),
                     gate_proj.weight.outputs(), gate_proj.bias.defined() ? ", .mlp_bias = true" : "");
}

LlamaBlock::LlamaBlock(const LlamaConfig& c)
    : self_attn(c),
      mlp(c),
      input_layernorm(c.hidden_size, c.rms_norm_eps),
      post_attention_layernorm(c.hidden_size, c.rms_norm_eps) {}

Tensor LlamaBlock::operator()(const Tensor& x, const AttentionPass& pass) const {
  const Tensor y = x + self_attn(input_layernorm(x), pass);
  return y + mlp(post_attention_layernorm(y));
}

// --- the whole model ---

LlamaModel::LlamaModel(const LlamaConfig& c)
    : config(checked(c)),
      embed_tokens([&] {
        const init::Skip skip;
        return Embedding(c.vocab_size, c.hidden_size);
      }()),
      layers(repeat<LlamaBlock>(c.num_hidden_layers, c)),
      norm(c.hidden_size, c.rms_norm_eps),
      lm_head([&] {
        const init::Skip skip;
        return LanguageHead(c.vocab_size, c.hidden_size, c.tie_word_embeddings);
      }()),
      speeds(rope_speeds(c)) {
  init::normal(embed_tokens.weight, 0, c.initializer_range);
  if (lm_head.weight.defined()) init::normal(lm_head.weight, 0, c.initializer_range);
}

PositionBias LlamaModel::positions(int64_t queries, int64_t start, DType dtype) const {
  Angles angles = rope_angles(queries, speeds, start, dtype);
  if (const double scale = config.rope_scaling.attention; config.rope_scaling.kind == RopeScaling::Kind::yarn) {
    angles.cosines = angles.cosines * scale;
    angles.sines = angles.sines * scale;
  }
  PositionBias bias{.cosines = std::move(angles.cosines), .sines = std::move(angles.sines), .start = start};
  bias.halves = true;
  return bias;
}

void LlamaModel::walk_in(Visitor& visitor) { visitor.go(*this); }  // here, where the walk is compiled once

}  // namespace tapegrad::nn
