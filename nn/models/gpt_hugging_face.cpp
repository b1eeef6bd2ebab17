// GPT-2's weights under Hugging Face's names and layout, and back.
// build: fuzzed
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/gpt_hugging_face.h>
#include <tapegrad/nn/models/detail/config_reader.h>

#include <unordered_map>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kPrefix = "transformer.";

struct Names {
  std::string_view theirs, ours;
  bool transposed;  // stored [in, out]
};
constexpr Names kOuter[] = {{"wte.weight", "tok_emb.weight", false},
                            {"wpe.weight", "pos_emb.weight", false},
                            {"ln_f.weight", "final_norm.scale", false},
                            {"ln_f.bias", "final_norm.shift", false}};
constexpr Names kInBlock[] = {{"ln_1.weight", "norm1.scale", false},
                              {"ln_1.bias", "norm1.shift", false},
                              {"attn.c_proj.weight", "att.out_proj.weight", true},
                              {"attn.c_proj.bias", "att.out_proj.bias", false},
                              {"ln_2.weight", "norm2.scale", false},
                              {"ln_2.bias", "norm2.shift", false},
                              {"mlp.c_fc.weight", "ff.layers.0.weight", true},
                              {"mlp.c_fc.bias", "ff.layers.0.bias", false},
                              {"mlp.c_proj.weight", "ff.layers.2.weight", true},
                              {"mlp.c_proj.bias", "ff.layers.2.bias", false}};
constexpr std::string_view kProjections[] = {"W_query", "W_key", "W_value"};

Tensor transposed_if(const Tensor& x, bool transposed) { return transposed && x.dim() == 2 ? x.t().contiguous() : x; }

// One third of the last axis.
Tensor third(const Tensor& x, int64_t which) {
  const int64_t size = x.size(-1) / 3;
  return narrow(x, -1, which * size, size).contiguous();
}

void require_own_keys(const GPTConfig& c) {
  require(c.n_kv_heads == 0 || c.n_kv_heads == c.n_heads, "hugging_face",
          "expected one key and value head per query head, as in GPT-2, got n_kv_heads {} for n_heads {}", c.n_kv_heads,
          c.n_heads);
}

// "h.11.attn.bias" -> 11 and "attn.bias"; nothing for other names.
std::optional<std::pair<std::string, std::string_view>> in_block(std::string_view name) {
  if (!name.starts_with("h.")) return {};
  const std::size_t dot = name.find('.', 2);
  if (dot == std::string_view::npos) return {};
  return std::pair{std::string(name.substr(2, dot - 2)), name.substr(dot + 1)};
}

// What config.json may have in addition to kKeysOfAnyModel.
constexpr std::string_view kGpt2Read =
    "activation_function attn_pdrop embd_pdrop layer_norm_epsilon n_ctx n_embd n_head n_inner n_layer n_positions "
    "resid_pdrop scale_attn_by_inverse_layer_idx scale_attn_weights";
constexpr std::string_view kGpt2Harmless =
    "n_special predict_special_tokens summary_activation summary_first_dropout summary_proj_to_labels summary_type "
    "summary_use_proj";
constexpr std::string_view kGpt2AtDefaults = "reorder_and_upcast_attn=false";

}  // namespace

GPTConfig gpt_config_of_hugging_face(std::string_view text, std::string_view where) {
  const Json json = parsed_config(text, where);
  const ConfigReader theirs{json, where};
  const std::string type = theirs.text("model_type", "gpt2");
  if (type != "gpt2") fail(where, "expected the model_type gpt2, got \"{}\"", type);
  theirs.require_known({kKeysOfAnyModel, {kGpt2Read, kGpt2Harmless, kGpt2AtDefaults}});
  GPTConfig config{.vocab_size = theirs.size("vocab_size"),
                   .context_length = theirs.size(theirs.has("n_positions") ? "n_positions" : "n_ctx"),
                   .emb_dim = theirs.size("n_embd"),
                   .n_heads = theirs.size("n_head"),
                   .n_layers = theirs.size("n_layer"),
                   .drop_rate = theirs.number("resid_pdrop", kShare, 0.1),
                   .qkv_bias = true,
                   .tied_head = theirs.flag("tie_word_embeddings", true)};
  const std::string activation = theirs.text("activation_function", "gelu_new");
  if (activation != "gelu_new" && activation != "gelu_pytorch_tanh")
    fail(where, "expected the activation_function gelu_new, got \"{}\"", activation);
  const int64_t inner = theirs.size("n_inner", 4 * config.emb_dim);
  if (inner != 4 * config.emb_dim) fail(where, "expected n_inner {} (4 n_embd), got {}", 4 * config.emb_dim, inner);
  const double epsilon = theirs.number("layer_norm_epsilon", kShare, 1e-5);
  if (epsilon != 1e-5) fail(where, "expected layer_norm_epsilon 1e-05, got {}", epsilon);
  for (const char* key : {"attn_pdrop", "embd_pdrop"}) theirs.number(key, kShare, 0);
  if (!theirs.flag("scale_attn_weights", true)) fail(where, "expected scale_attn_weights true, got false");
  if (theirs.flag("scale_attn_by_inverse_layer_idx"))
    fail(where, "expected scale_attn_by_inverse_layer_idx false, got true");
  check_config([&] { config.check(); }, where);
  return config;
}

std::string to_hugging_face_config(const GPTConfig& c, std::optional<int64_t> end_of_text) {
  if (c.positions != Positions::learned)
    fail("hugging_face", "expected learned positions, as GPT-2 has, got {}", name(c.positions));
  if (c.attention.name() != "full")
    fail("hugging_face", "expected full attention, as GPT-2 has, got {}", c.attention.name());
  require_own_keys(c);
  const Json end = end_of_text ? Json(*end_of_text) : Json();
  const Json json{{"model_type", "gpt2"},
                  {"architectures", {"GPT2LMHeadModel"}},
                  {"vocab_size", c.vocab_size},
                  {"n_positions", c.context_length},
                  {"n_ctx", c.context_length},
                  {"n_embd", c.emb_dim},
                  {"n_head", c.n_heads},
                  {"n_layer", c.n_layers},
                  {"activation_function", "gelu_new"},
                  {"layer_norm_epsilon", 1e-5},
                  {"attn_pdrop", c.drop_rate},
                  {"embd_pdrop", c.drop_rate},
                  {"resid_pdrop", c.drop_rate},
                  {"bos_token_id", end},
                  {"eos_token_id", end},
                  {"tie_word_embeddings", c.tied_head}};
  return json.dump(2) + "\n";
}

NamedTensors from_hugging_face(const NamedTensors& state, const GPTConfig& config) {
  const PauseRecording pause;
  NamedTensors out;
  const auto renamed = [&](const auto& table, std::string_view name, std::string_view prefix, const Tensor& x) {
    for (const Names& entry : table) {
      if (entry.theirs != name) continue;
      out.push_back({fmt::format("{}{}", prefix, entry.ours), transposed_if(x, entry.transposed)});
      return true;
    }
    return false;
  };
  for (const auto& [full, x] : state) {
    std::string_view name = full;
    if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
    if (renamed(kOuter, name, "", x)) continue;
    if (name == "lm_head.weight") {
      if (!config.tied_head) out.push_back({"out_head.weight", x});
      continue;
    }
    const auto block = in_block(name);
    if (!block) {
      out.push_back({full, x});
      continue;
    }
    const auto& [number, part] = *block;
    const std::string prefix = fmt::format("trf_blocks.{}.", number);
    if (part == "attn.bias" || part == "attn.masked_bias") continue;  // buffers: the causal mask
    const bool joined = (part == "attn.c_attn.weight" && x.dim() == 2) || (part == "attn.c_attn.bias" && x.dim() == 1);
    if (joined && x.size(-1) % 3 == 0) {
      for (int64_t i = 0; i < 3; ++i) {
        const bool weight = x.dim() == 2;
        out.push_back({fmt::format("{}att.{}.{}", prefix, kProjections[i], weight ? "weight" : "bias"),
                       transposed_if(third(x, i), weight)});
      }
    } else if (!renamed(kInBlock, part, prefix, x)) {
      out.push_back({full, x});
    }
  }
  return out;
}

NamedTensors to_hugging_face(const GPTModel& model) {
  require_own_keys(model.config);
  const PauseRecording pause;
  if (has_lora(model)) {
    GPTModel merged = clone(model);
    merge_lora(merged);
    return to_hugging_face(merged);
  }
  std::unordered_map<std::string, Tensor> own;
  const NamedTensors state = state_dict(model);
  if (const WeightFormat* quantized = quantized_format(state))
    fail("hugging_face", "expected floating weights, got {}", quantized->name);
  for (const NamedTensor& t : state) own.emplace(t.name, t.tensor);
  NamedTensors out;
  const auto add = [&](const auto& table, std::string_view theirs, std::string_view ours) {
    for (const Names& entry : table) {
      out.push_back({fmt::format("{}{}{}", kPrefix, theirs, entry.theirs),
                     transposed_if(own.at(fmt::format("{}{}", ours, entry.ours)), entry.transposed)});
    }
  };
  add(kOuter, "", "");
  for (int64_t i = 0; i < model.config.n_layers; ++i) {
    const std::string theirs = fmt::format("h.{}.", i), ours = fmt::format("trf_blocks.{}.", i);
    add(kInBlock, theirs, ours);
    std::vector<Tensor> weights, biases;
    for (const std::string_view projection : kProjections) {
      const Tensor& weight = own.at(fmt::format("{}att.{}.weight", ours, projection));
      weights.push_back(weight.t());
      biases.push_back(model.config.qkv_bias ? own.at(fmt::format("{}att.{}.bias", ours, projection))
                                             : zeros({weight.size(0)}, weight.dtype()));
    }
    out.push_back({fmt::format("{}{}attn.c_attn.weight", kPrefix, theirs), cat(weights, 1)});
    out.push_back({fmt::format("{}{}attn.c_attn.bias", kPrefix, theirs), cat(biases, 0)});
  }
  if (!model.config.tied_head) out.push_back({"lm_head.weight", own.at("out_head.weight")});
  return out;
}

AdapterLayer gpt2_adapter_names(std::string_view path) {
  constexpr std::string_view kBlocks = "trf_blocks.", kAttention = "att.", kWeight = ".weight";
  if (!path.starts_with(kBlocks)) return {std::string(path)};
  const std::string_view in = path.substr(kBlocks.size());
  const std::size_t dot = in.find('.');
  if (dot == std::string_view::npos) return {std::string(path)};
  const std::string_view number = in.substr(0, dot), part = in.substr(dot + 1);
  for (int64_t i = 0; i < 3; ++i) {
    if (part.starts_with(kAttention) && part.substr(kAttention.size()) == kProjections[i])
      return {fmt::format("{}h.{}.attn.c_attn", kPrefix, number), i, 3};
  }
  for (const Names& entry : kInBlock) {
    if (entry.transposed && entry.ours.substr(0, entry.ours.size() - kWeight.size()) == part)
      return {fmt::format("{}h.{}.{}", kPrefix, number, entry.theirs.substr(0, entry.theirs.size() - kWeight.size()))};
  }
  return {std::string(path)};
}

}  // namespace tapegrad::nn
