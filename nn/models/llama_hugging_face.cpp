// Llama's configuration and weights as Hugging Face's folders have them, and back.
// build: fuzzed
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/nn/llama_hugging_face.h>
#include <tapegrad/nn/lora.h>
#include <tapegrad/nn/models/detail/config_reader.h>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kLlamaRead =
    "attention_bias attention_dropout head_dim hidden_act hidden_size intermediate_size max_position_embeddings "
    "mlp_bias num_attention_heads num_hidden_layers num_key_value_heads original_max_position_embeddings "
    "partial_rotary_factor rms_norm_eps rope_parameters rope_scaling rope_theta";
constexpr std::string_view kLlamaHarmless = "is_llama_config";
constexpr std::string_view kLlamaAtDefaults = "pretraining_tp=1 rope_interleaved=false use_sliding_window=false";
constexpr json::KnownKeys kLlamaKeys{kLlamaRead, kLlamaHarmless, kLlamaAtDefaults};

// Of rope_scaling and rope_parameters, by type.
constexpr std::string_view kRopeRead = "partial_rotary_factor rope_theta rope_type type";
constexpr std::string_view kFactorRead = "factor";
constexpr std::string_view kTurnsRead = "low_freq_factor high_freq_factor original_max_position_embeddings";
constexpr std::string_view kYarnRead =
    "attention_factor beta_fast beta_slow mscale mscale_all_dim original_max_position_embeddings truncate";
constexpr std::string_view kYarnHarmless = "finetuned";

constexpr Limits kScale{.least = 0, .most = 1e6}, kTheta{.least = 1, .most = 1e12, .open_below = true};

// YaRN's factor of cosines and sines.
double attention_of(const ConfigReader& rope, double factor) {
  const auto grown = [&](double by) { return factor <= 1 ? 1 : 0.1 * by * fixed::log(factor) + 1; };
  const double above = rope.number("mscale", kScale, 0), below = rope.number("mscale_all_dim", kScale, 0);
  if (rope.has("attention_factor")) return rope.number("attention_factor", kFactor);
  return above != 0 && below != 0 ? grown(above) / grown(below) : grown(1);
}

// `trained` is the context of the training, if the file has it outside, and `context` that of the model.
RopeScaling rope_scaling_of(const ConfigReader& rope, std::optional<int64_t> trained, int64_t context) {
  using Kind = RopeScaling::Kind;
  const std::string type = rope.text("rope_type", rope.text("type", "default").c_str());
  const json::KnownKeys any{kRopeRead}, factor{kFactorRead};
  if (type == "default") {
    rope.require_known({any});
    return {};
  }
  const bool yarn = type == "yarn", llama3 = type == "llama3";
  if (!yarn && !llama3 && type != "linear" && type != "dynamic")
    fail(rope.where, "expected the rope_type default, linear, dynamic, llama3 or yarn, got \"{}\"", type);
  RopeScaling scaling{.kind = type == "linear" ? Kind::linear : Kind::dynamic};
  if (yarn || llama3)
    scaling.trained_length = trained ? *trained : rope.size("original_max_position_embeddings", context);
  std::optional<double> otherwise;  // than a factor
  if (yarn && scaling.trained_length > 0)
    otherwise = static_cast<double>(context) / static_cast<double>(scaling.trained_length);
  scaling.factor = rope.number("factor", {.least = 1, .most = 1e6}, otherwise);
  if (llama3) {
    rope.require_known({any, factor, {kTurnsRead}});
    scaling.kind = Kind::llama3;
    scaling.low = rope.number("low_freq_factor", kFactor);
    scaling.high = rope.number("high_freq_factor", kFactor);
  } else if (yarn) {
    rope.require_known({any, factor, {kYarnRead, kYarnHarmless}});
    scaling.kind = Kind::yarn;
    const double low = rope.number("beta_slow", kScale, 0), high = rope.number("beta_fast", kScale, 0);
    scaling.low = low == 0 ? 1 : low;
    scaling.high = high == 0 ? 32 : high;
    scaling.attention = attention_of(rope, scaling.factor);
    scaling.whole_pairs = rope.flag("truncate", true);
  } else {
    rope.require_known({any, factor});
  }
  return scaling;
}

// Takes the angles of rope_scaling, or where that is missing or empty of rope_parameters, as transformers does: the
// first is in files of transformers 4, the second since 5.
void read_rope(const ConfigReader& config, LlamaConfig& c) {
  const Json scaling = config.object("rope_scaling");
  const Json object = scaling.empty() ? config.object("rope_parameters") : scaling;
  const ConfigReader rope{object, config.where};
  const double part = rope.number("partial_rotary_factor", kShare, config.number("partial_rotary_factor", kShare, 1));
  if (part != 1) fail(config.where, "expected a partial_rotary_factor of 1, got {}", part);
  c.rope_theta = rope.number("rope_theta", kTheta, config.number("rope_theta", kTheta, 10000));
  constexpr const char* kTrained = "original_max_position_embeddings";
  const std::optional<int64_t> trained = config.has(kTrained) ? config.size(kTrained) : std::optional<int64_t>();
  c.rope_scaling = rope_scaling_of(rope, trained, c.max_position_embeddings);
}

}  // namespace

LlamaConfig llama_config_of_hugging_face(std::string_view text, std::string_view where) {
  const Json json = parsed_config(text, where);
  const ConfigReader config{json, where};
  const std::string type = config.text("model_type", "");
  if (type != "llama") fail(where, "expected the model_type llama, got \"{}\"", type);
  if (config.has("quantization_config")) fail(where, "expected floating weights, got a quantization_config");
  config.require_known({kKeysOfAnyModel, kLlamaKeys});
  const std::string activation = config.text("hidden_act", "silu");
  if (activation != "silu" && activation != "swish")
    fail(where, "expected the hidden_act silu, got \"{}\"", activation);
  LlamaConfig c{.vocab_size = config.size("vocab_size"),
                .hidden_size = config.size("hidden_size"),
                .intermediate_size = config.size("intermediate_size"),
                .num_hidden_layers = config.size("num_hidden_layers"),
                .num_attention_heads = config.size("num_attention_heads"),
                .num_key_value_heads = config.size("num_key_value_heads", 0),
                .head_dim = config.size("head_dim", 0),
                .max_position_embeddings = config.size("max_position_embeddings", 2048),
                .rms_norm_eps = config.number("rms_norm_eps", kShare, 1e-6),
                .attention_dropout = config.number("attention_dropout", kShare, 0),
                .attention_bias = config.flag("attention_bias"),
                .mlp_bias = config.flag("mlp_bias"),
                .tie_word_embeddings = config.flag("tie_word_embeddings"),
                .initializer_range = config.number("initializer_range", kFactor, 0.02)};
  read_rope(config, c);
  check_config([&] { c.check(); }, where);
  return c;
}

std::vector<int64_t> ends_of_hugging_face(std::string_view text, std::string_view where) {
  const Json json = parsed_config(text, where);
  const Json* const id = json.find("eos_token_id");
  if (!id) return {};
  std::vector<int64_t> ends;
  for (const Json& one : id->is_array() ? *id : Json::array({*id})) {
    if (one.is_number_unsigned() && one.get<uint64_t>() <= INT64_MAX) ends.push_back(one.get<int64_t>());
    // Null is none; so is -1, because no token has it.
    if (!one.is_null() && !one.is_number_integer())
      ConfigReader{json, where}.refuse("eos_token_id", "a whole number or a list of them", *id);
  }
  return ends;
}

std::string to_hugging_face_config(const LlamaConfig& c, std::optional<int64_t> begin,
                                   const std::vector<int64_t>& ends) {
  using Kind = RopeScaling::Kind;
  const RopeScaling& s = c.rope_scaling;
  const bool yarn = s.kind == Kind::yarn;
  Json rope{{"rope_type", rope_type_name(s.kind)}, {"rope_theta", c.rope_theta}};
  if (s.kind != Kind::none) rope["factor"] = s.factor;
  if (yarn || s.kind == Kind::llama3) {
    rope[yarn ? "beta_slow" : "low_freq_factor"] = s.low;
    rope[yarn ? "beta_fast" : "high_freq_factor"] = s.high;
    rope["original_max_position_embeddings"] = s.trained_length;
  }
  if (yarn) {
    rope["attention_factor"] = s.attention;
    rope["truncate"] = s.whole_pairs;
  }
  Json json{{"model_type", "llama"},
            {"architectures", {"LlamaForCausalLM"}},
            {"vocab_size", c.vocab_size},
            {"hidden_size", c.hidden_size},
            {"intermediate_size", c.intermediate_size},
            {"num_hidden_layers", c.num_hidden_layers},
            {"num_attention_heads", c.num_attention_heads},
            {"num_key_value_heads", c.kv_heads()},
            {"head_dim", c.head_size()},
            {"hidden_act", "silu"},
            {"max_position_embeddings", c.max_position_embeddings},
            {"rms_norm_eps", c.rms_norm_eps},
            {"rope_theta", c.rope_theta},
            {"rope_scaling", s.kind == Kind::none ? Json() : rope},
            {"rope_parameters", rope},
            {"attention_dropout", c.attention_dropout},
            {"attention_bias", c.attention_bias},
            {"mlp_bias", c.mlp_bias},
            {"initializer_range", c.initializer_range},
            {"tie_word_embeddings", c.tie_word_embeddings},
            {"bos_token_id", begin ? Json(*begin) : Json()},
            {"eos_token_id", ends.empty()       ? Json()
                             : ends.size() == 1 ? Json(ends[0])
                                                : Json(ends)}};
  return json.dump(2) + "\n";
}

NamedTensors from_hugging_face(const NamedTensors& state, const LlamaConfig& config) {
  NamedTensors out;
  for (const NamedTensor& entry : state) {
    const bool spare =
        entry.name.ends_with(".rotary_emb.inv_freq") || (config.tie_word_embeddings && entry.name == "lm_head.weight");
    if (!spare) out.push_back(entry);
  }
  return out;
}

NamedTensors to_hugging_face(const LlamaModel& model) {
  if (has_lora(model)) {
    LlamaModel merged = clone(model);
    merge_lora(merged);
    return to_hugging_face(merged);
  }
  NamedTensors state = state_dict(model);
  if (const WeightFormat* quantized = quantized_format(state))
    fail("hugging_face", "expected floating weights, got {}", quantized->name);
  return state;
}

}  // namespace tapegrad::nn
