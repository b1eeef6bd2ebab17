// Llama's configuration and weights as Hugging Face's folders have them, and back.
// build: fuzzed
#include <fmt/format.h>
#include <tapegrad/nn/llama_hugging_face.h>
#include <tapegrad/nn/lora.h>
#include <tapegrad/nn/models/detail/config_reader.h>

namespace tapegrad::nn {

namespace {

RopeScaling rope_scaling_of(const ConfigReader& rope, int64_t context) {
  const std::string type = rope.text("rope_type", rope.text("type", "default").c_str());
  if (type == "default") return {};
  RopeScaling scaling{.kind = RopeScaling::Kind::linear, .factor = rope.number("factor")};
  if (type == "linear") return scaling;
  if (type != "llama3") {
    fail(rope.where, fmt::format("expected the rope_type default, linear or llama3, got \"{}\"", type));
  }
  scaling.kind = RopeScaling::Kind::llama3;
  scaling.low = rope.number("low_freq_factor");
  scaling.high = rope.number("high_freq_factor");
  scaling.trained_length = rope.size("original_max_position_embeddings", context);
  return scaling;
}

}  // namespace

LlamaConfig llama_config_of_hugging_face(std::string_view text, std::string_view where) {
  const nlohmann::json json = parsed_config(text, where);
  const ConfigReader config{json, where};
  const std::string type = config.text("model_type", "");
  if (type != "llama") fail(where, fmt::format("expected the model_type llama, got \"{}\"", type));
  if (config.has("quantization_config")) fail(where, "expected floating weights, got a quantization_config");
  const std::string activation = config.text("hidden_act", "silu");
  if (activation != "silu") fail(where, fmt::format("expected the hidden_act silu, got \"{}\"", activation));
  LlamaConfig c{.vocab_size = config.size("vocab_size"),
                .hidden_size = config.size("hidden_size"),
                .intermediate_size = config.size("intermediate_size"),
                .num_hidden_layers = config.size("num_hidden_layers"),
                .num_attention_heads = config.size("num_attention_heads"),
                .num_key_value_heads = config.size("num_key_value_heads", 0),
                .head_dim = config.size("head_dim", 0),
                .max_position_embeddings = config.size("max_position_embeddings", 2048),
                .rms_norm_eps = config.number("rms_norm_eps", 1e-6),
                .rope_theta = config.number("rope_theta", 10000),
                .attention_dropout = config.number("attention_dropout", 0),
                .attention_bias = config.flag("attention_bias"),
                .mlp_bias = config.flag("mlp_bias"),
                .tie_word_embeddings = config.flag("tie_word_embeddings"),
                .initializer_range = config.number("initializer_range", 0.02)};
  for (const char* key : {"rope_scaling", "rope_parameters"}) {  // the second one since transformers 5
    const nlohmann::json object = config.object(key);
    const ConfigReader rope{object, where};
    if (const double part = rope.number("partial_rotary_factor", 1); part != 1)
      fail(where, fmt::format("expected a partial_rotary_factor of 1, got {}", part));
    c.rope_theta = rope.number("rope_theta", c.rope_theta);
    c.rope_scaling = rope_scaling_of(rope, c.max_position_embeddings);
  }
  check_config([&] { c.check(); }, where);
  return c;
}

std::vector<int64_t> ends_of_hugging_face(std::string_view text, std::string_view where) {
  const nlohmann::json json = parsed_config(text, where);
  const auto id = json.find("eos_token_id");
  if (id == json.end()) return {};
  std::vector<int64_t> ends;
  for (const nlohmann::json& one : id->is_array() ? *id : nlohmann::json::array({*id})) {
    if (one.is_number_unsigned()) ends.push_back(one.get<int64_t>());
  }
  return ends;
}

std::string to_hugging_face_config(const LlamaConfig& c, std::optional<int64_t> begin,
                                   const std::vector<int64_t>& ends) {
  using Json = nlohmann::ordered_json;
  Json rope{{"rope_type", "default"}, {"rope_theta", c.rope_theta}};
  const RopeScaling& s = c.rope_scaling;
  if (s.kind != RopeScaling::Kind::none) {
    rope["rope_type"] = s.kind == RopeScaling::Kind::linear ? "linear" : "llama3";
    rope["factor"] = s.factor;
  }
  if (s.kind == RopeScaling::Kind::llama3) {
    rope["low_freq_factor"] = s.low;
    rope["high_freq_factor"] = s.high;
    rope["original_max_position_embeddings"] = s.trained_length;
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
            {"rope_scaling", s.kind == RopeScaling::Kind::none ? Json() : rope},
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
    fail("hugging_face", fmt::format("expected floating weights, got {}", quantized->name));
  return state;
}

}  // namespace tapegrad::nn
