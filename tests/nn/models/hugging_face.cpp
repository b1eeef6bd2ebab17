// config.json of Hugging Face's folders: RoPE's scaling against transformers, the keys of published models, and keys
// that would change the model.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using nlohmann::json;
using tests::error_of;

nn::LlamaConfig read_llama(const json& config) { return nn::llama_config_of_hugging_face(config.dump(), "c.json"); }

// transformers' logits under every form (make_llama_rope.py), before and after the configuration was written.
TEST(HuggingFace, ScaledRopeIsThatOfTransformers) {
  const json file = tests::stored("llama_rope.json"), base = tests::stored("llama2_tiny/config.json");
  const NamedTensors state =
      load_safetensors(std::string(tests::kTestsDir) + "/data/llama2_tiny/model.safetensors").tensors;
  for (const json& one : file["cases"]) {
    json config = base;
    config.erase("rope_parameters");
    config.update(one["members"]);
    nn::LlamaConfig read = read_llama(config);
    for (const char* from : {"read", "written"}) {
      SCOPED_TRACE(from + one["members"].dump());
      const nn::init::Skip skip;
      nn::LlamaModel model(read);
      nn::load_state_dict(model, nn::from_hugging_face(state, model.config));
      nn::eval(model);
      const Tensor logits = model(tests::ids(file["ids"]));
      const auto expected = one["logits"].get<std::vector<double>>();
      tests::expect_close(narrow(logits.select(0, 0).select(0, -1), 0, 0, static_cast<int64_t>(expected.size())),
                          one["logits"], {2e-5, 2e-5}, "logits");
      read = nn::llama_config_of_hugging_face(nn::to_hugging_face_config(read), "written");
    }
  }
}

TEST(HuggingFace, RopesThatAreNotSupported) {
  const json base = tests::stored("llama2_tiny/config.json");
  const auto with = [&](const char* key, const json& rope) {
    json config = base;
    config.erase("rope_parameters");
    config[key] = rope;
    return error_of([&] { read_llama(config); });
  };
  const json factors = {1, 1};
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    for (const char* name : {"type", "rope_type"}) {
      for (const char* type : {"longrope", "su", "proportional", "mrope"}) {
        EXPECT_EQ(
            with(key, {{name, type}, {"factor", 2}}),
            fmt::format("[c.json] expected the rope_type default, linear, dynamic, llama3 or yarn, got \"{}\"", type));
      }
    }
    EXPECT_TEXT(with(key, {{"type", "longrope"}, {"short_factor", factors}, {"long_factor", factors}}));
    EXPECT_TEXT(with(key, {{"rope_type", "default"}, {"mrope_section", {1, 1}}}));
    EXPECT_EQ(with(key, {{"type", "linear"}}), "[c.json] expected factor to be a number in [1, 1000000], got null");
    EXPECT_TEXT(with(key, {{"type", "linear"}, {"factor", 0.5}}));
    EXPECT_TEXT(with(key, {{"type", "yarn"}, {"factor", 2}, {"beta_fast", 1}, {"beta_slow", 2}}));
    tests::expect_parts(with(key, {{"full_attention", {{"rope_type", "default"}}}}), {"got \"full_attention\""});
    EXPECT_EQ(with(key, 3), fmt::format("[c.json] expected {} to be an object, got 3", key));
  }
  EXPECT_EQ(with("partial_rotary_factor", 0.5), "[c.json] expected a partial_rotary_factor of 1, got 0.5");
}

// The keys of published folders.
TEST(HuggingFace, PublishedConfigurationsAreRead) {
  const json llama = json::parse(R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false,
    "attention_dropout": 0.0, "bos_token_id": 128000, "eos_token_id": 128001, "hidden_act": "silu", "hidden_size": 4096,
    "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 8192, "model_type": "llama",
    "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "pretraining_tp": 1,
    "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 500000.0, "tie_word_embeddings": false,
    "torch_dtype": "bfloat16", "transformers_version": "4.40.0.dev0", "use_cache": true, "vocab_size": 128256})");
  const auto with = [&](const char* members) {
    json config = llama;
    config.update(json::parse(members));
    return read_llama(config);
  };
  EXPECT_EQ(read_llama(llama).rope_scaling.kind, nn::RopeScaling::Kind::none);
  EXPECT_EQ(read_llama(llama).rope_theta, 500000);
  const nn::LlamaConfig one = with(R"({"_name_or_path": "meta-llama/Llama-2-7b-hf", "mlp_bias": false, "head_dim": 128,
    "eos_token_id": [128001, 128008, 128009], "max_position_embeddings": 131072, "rope_scaling": {"factor": 8.0,
    "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"}})");
  EXPECT_EQ(one.rope_scaling.kind, nn::RopeScaling::Kind::llama3);
  EXPECT_EQ(one.rope_scaling.factor, 8);
  EXPECT_EQ(one.rope_scaling.trained_length, 8192);
  EXPECT_EQ(one.rope_theta, 500000);
  for (const char* members : {
           R"({"bos_token_id": 0, "is_llama_config": true, "rope_interleaved": false, "rope_theta": 100000,
               "transformers.js_config": {"kv_cache_dtype": {"q4f16": "float16"}}, "pad_token_id": 2})",
           R"({"max_sequence_length": 2048, "pad_token_id": 0, "torch_dtype": "float16"})",
           R"({"architectures": ["LLaMAForCausalLM"], "pad_token_id": -1, "eos_token_id": -1})",
           R"({"dtype": "bfloat16", "pad_token_id": null, "sliding_window": null, "unsloth_version": "2025.1"})",
           R"({"auto_map": {"AutoModelForCausalLM": "m.LlamaForCausalLM"}, "_attn_implementation_autoset": true,
               "rope_scaling": {"factor": 16.0, "original_max_position_embeddings": 4096, "type": "yarn",
                                "finetuned": true}})",
           R"({"do_sample": true, "temperature": 0.9, "top_p": 0.6, "max_length": 4096, "num_beams": 1,
               "repetition_penalty": 1.1, "suppress_tokens": [3], "bad_words_ids": null, "id2label": {"0": "LABEL_0"}, "pruned_heads": {},
               "is_encoder_decoder": false, "chunk_size_feed_forward": 0, "problem_type": null, "torchscript": false})"})
    EXPECT_EQ(error_of([&] { with(members); }), "no error") << members;
  const json gpt2 = json::parse(R"({"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"],
    "attn_pdrop": 0.1, "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02,
    "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12,
    "n_positions": 1024, "resid_pdrop": 0.1, "summary_activation": null, "summary_first_dropout": 0.1,
    "summary_proj_to_labels": true, "summary_type": "cls_index", "summary_use_proj": true,
    "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}}, "vocab_size": 50257,
    "_num_labels": 1, "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}, "n_special": 0,
    "predict_special_tokens": true, "gradient_checkpointing": false, "reorder_and_upcast_attn": false,
    "scale_attn_by_inverse_layer_idx": false, "scale_attn_weights": true, "use_cache": true, "n_inner": null,
    "add_cross_attention": false, "transformers_version": "4.20.1", "torch_dtype": "float32"})");
  EXPECT_EQ(nn::gpt_config_of_hugging_face(gpt2.dump(), "c.json").vocab_size, 50257);
}

// A key that is not known may change the model, as may one that is harmless only at its default.
TEST(HuggingFace, KeysThatChangeTheModelAreErrors) {
  const json llama = tests::stored("llama2_tiny/config.json"), gpt2 = tests::stored("hugging_face_gpt2/config.json");
  const auto error = [](json config, const char* key, const json& value) {
    const bool is_llama = config["model_type"] == "llama";
    config[key] = value;
    return error_of([&] {
      if (is_llama) {
        read_llama(config);
      } else {
        nn::gpt_config_of_hugging_face(config.dump(), "c.json");
      }
    });
  };
  const json unknown = json::parse(R"({"sliding_window": 4096, "use_qk_norm": true, "layer_types": ["a"],
      "logits_scaling": 8, "attn_logit_softcapping": 50.0, "hidden_act_": "x", "use_alibi": false,
      "quantization": {"bits": 4}, "per_layer_config": {"0": {}}})");
  const json at_defaults = json::parse(R"({"is_encoder_decoder": [false, true], "add_cross_attention": [false, true],
      "pruned_heads": [{}, {"0": [1]}]})");
  for (const json& config : {llama, gpt2}) {
    for (const auto& [key, value] : unknown.items()) {
      EXPECT_EQ(error(config, key.c_str(), value),
                fmt::format("[c.json] expected only keys whose meaning is known, got \"{}\": {} (remove the key if the "
                            "result does not depend on it)",
                            key, value.dump()));
      EXPECT_EQ(error(config, key.c_str(), nullptr), "no error") << key;
    }
    for (const auto& [key, value] : at_defaults.items()) {
      EXPECT_EQ(error(config, key.c_str(), value[0]), "no error");
      EXPECT_EQ(error(config, key.c_str(), value[1]),
                fmt::format("[c.json] expected {} {}, got {}", key, value[0].dump(), value[1].dump()));
    }
  }
  EXPECT_EQ(error(llama, "pretraining_tp", 2), "[c.json] expected pretraining_tp 1, got 2");
  EXPECT_EQ(error(llama, "rope_interleaved", true), "[c.json] expected rope_interleaved false, got true");
  EXPECT_EQ(error(llama, "hidden_act", "swish"), "no error");
  EXPECT_EQ(error(gpt2, "reorder_and_upcast_attn", true), "[c.json] expected reorder_and_upcast_attn false, got true");
  for (const json& good : {json(5), json(nullptr), json({5, 6}), json(-1)})
    EXPECT_NO_THROW(nn::ends_of_hugging_face(json{{"eos_token_id", good}}.dump(), "g.json"));
  EXPECT_ERROR(nn::ends_of_hugging_face(R"({"eos_token_id": [5, "a"]})", "g.json"));
}

}  // namespace
}  // namespace tapegrad
