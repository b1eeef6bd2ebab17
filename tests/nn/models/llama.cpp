// Llama against transformers: values, gradients, greedy tokens and scaled RoPE; Hugging Face's configurations.
#include <tapegrad/tests/nn/models/small_models.h>
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// Written by tests/data/make_llama.py with transformers.
constexpr const char* kFolders[] = {"llama2_tiny", "llama3_tiny"};

std::string folder_of(const std::string& name) { return std::string(kTestsDir) + "/data/" + name; }

nn::LlamaModel loaded(const std::string& name) {
  const std::string folder = folder_of(name), file = folder + "/config.json";
  const nn::init::Skip skip;
  nn::LlamaModel model(nn::llama_config_of_hugging_face(slurp(file), file));
  const std::string weights = folder + (name == "llama2_tiny" ? "/model.safetensors" : "");
  nn::load_state_dict(model, nn::from_hugging_face(load_safetensors(weights).tensors, model.config));
  nn::eval(model);
  return model;
}

double difference(const Tensor& a, const Tensor& b) {
  return amax(abs(a.detach().to(kFloat64) - b.detach().to(kFloat64))).item();
}

TEST(Llama, LogitsLossAndEveryGradientEqualTransformers) {
  for (const std::string name : kFolders) {
    SCOPED_TRACE(name);
    const Json data = stored(name + "/expected.json");
    const SafeTensors expected = load_safetensors(folder_of(name) + "/expected.safetensors");
    for (const DType dtype : {kFloat64, kFloat32}) {
      nn::LlamaModel model = loaded(name);
      nn::to(model, dtype);
      const double room = dtype == kFloat64 ? 1e-5 : 4e-5;  // transformers computes angles in float32
      Tape tape;
      const Tensor in = ids(data["ids"]), logits = model(in);
      EXPECT_LT(difference(logits, expected["logits"]), room);
      const Tensor loss = cross_entropy(logits.slice(1, 0, -1), in.slice(1, 1));
      EXPECT_NEAR(loss.item(), expected["loss"].item(), room);
      const Gradients grads = tape.backward(loss);
      const auto parameters = nn::named_parameters(model);
      EXPECT_EQ(parameters.size() + 2, expected.tensors.size());
      for (const auto& [key, parameter] : parameters) {
        EXPECT_LT(difference(grads[parameter], expected["grad." + key]), room) << key;
      }
    }
  }
}

TEST(Llama, GreedyTokensEqualTransformers) {
  for (const std::string name : kFolders) {
    SCOPED_TRACE(name);
    const Json data = stored(name + "/expected.json");
    const nn::LlamaModel model = loaded(name);
    const auto count = static_cast<int64_t>(data["greedy"].size());
    for (const bool cached : {true, false}) {
      nn::DecoderNext next(model, cached);
      const Tensor found = nn::generate(next, ids(Json::array({data["start"]})), {.max_new_tokens = count}).tokens;
      EXPECT_EQ(found.to_vector<int64_t>(), data["greedy"].get<std::vector<int64_t>>());
    }
    const std::vector<std::vector<int64_t>> prompts{{1, 2, 3}, data["start"].get<std::vector<int64_t>>()};
    const nn::Generated both = nn::generate_each(model, prompts, {.max_new_tokens = count}, 0);
    EXPECT_EQ(both.tokens[1].to_vector<int64_t>(), data["greedy"].get<std::vector<int64_t>>());
  }
}

TEST(Llama, InitialParametersAndTheirCount) {
  nn::LlamaConfig config = small_llama();
  config.attention_bias = config.mlp_bias = config.tie_word_embeddings = true;
  manual_seed(1);
  const nn::LlamaModel model(config);
  EXPECT_EQ(config.parameter_count(), nn::count_parameters(model));
  EXPECT_NEAR(tapegrad::std(model.embed_tokens.weight.tensor()).item(), 0.02, 0.005);
  EXPECT_EQ(sum(abs(model.layers[0].mlp.up_proj.bias)).item(), 0);
}

TEST(Llama, RecomputedBlocksGiveTheSameGradients) {
  manual_seed(1);
  nn::LlamaModel model(small_llama());
  const Tensor in = tensor({{3, 1, 4, 1, 5}});
  const auto results = [&](bool recompute) {
    model.recompute_blocks = recompute;
    return loss_and_gradients(model, [&] { return cross_entropy(model(in), in); });
  };
  expect_same_results(results, {false, true});
}

TEST(Llama, AnyDecoderIsAModule) {
  nn::AnyDecoder any(nn::LlamaModel{small_llama()});
  EXPECT_EQ(nn::named_parameters(any)[0].name, "model.embed_tokens.weight");
  EXPECT_EQ(nn::count_parameters(any), small_llama().parameter_count());
  EXPECT_EQ(any->vocab_size(), 11);
  EXPECT_NE(any.as<nn::LlamaModel>(), nullptr);
  nn::AnyDecoder copy = nn::clone(any);
  ASSERT_NE(copy.as<nn::LlamaModel>(), nullptr);
  const Tensor in = tensor({{3, 1, 4}});
  EXPECT_TRUE(same_bits((*copy)(in), (*any)(in)));
  nn::init::zeros(copy.as<nn::LlamaModel>()->lm_head.weight);
  EXPECT_FALSE(same_bits((*copy)(in), (*any)(in)));
}

TEST(Llama, RejectsWhatItDoesNotSupport) {
  const std::string good = nn::to_hugging_face_config(small_llama());
  for (const auto& [members, text] : pairs_of_lines("data/llama_config_errors.txt")) {
    Json changed = Json::parse(good);
    changed.update(Json::parse(members));
    EXPECT_EQ(error_of([&] { nn::llama_config_of_hugging_face(changed.dump(), "c.json"); }), text) << members;
  }
  const nn::LlamaModel model(small_llama());
  EXPECT_ERROR(model(full({1, 17}, 0, kInt64)));
  EXPECT_ERROR(model(zeros({1, 2})));
}

nn::LlamaConfig read_llama(const Json& config) { return nn::llama_config_of_hugging_face(config.dump(), "c.json"); }

// transformers' logits under every form (make_llama_rope.py), before and after the configuration was written.
TEST(HuggingFace, ScaledRopeIsThatOfTransformers) {
  const Json file = stored("llama_rope.json"), base = stored("llama2_tiny/config.json");
  const NamedTensors state = load_safetensors(std::string(kTestsDir) + "/data/llama2_tiny/model.safetensors").tensors;
  for (const Json& one : file["cases"]) {
    Json config = base;
    config.erase("rope_parameters");
    config.update(one["members"]);
    nn::LlamaConfig read = read_llama(config);
    for (const char* from : {"read", "written"}) {
      SCOPED_TRACE(from + one["members"].dump());
      const nn::init::Skip skip;
      nn::LlamaModel model(read);
      nn::load_state_dict(model, nn::from_hugging_face(state, model.config));
      nn::eval(model);
      const Tensor logits = model(ids(file["ids"]));
      const auto expected = one["logits"].get<std::vector<double>>();
      expect_close(narrow(logits.select(0, 0).select(0, -1), 0, 0, static_cast<int64_t>(expected.size())),
                   one["logits"], {2e-5, 2e-5}, "logits");
      read = nn::llama_config_of_hugging_face(nn::to_hugging_face_config(read), "written");
    }
  }
}

TEST(HuggingFace, RopesThatAreNotSupported) {
  const Json base = stored("llama2_tiny/config.json");
  const auto with = [&](const char* key, const Json& rope) {
    Json config = base;
    config.erase("rope_parameters");
    config[key] = rope;
    return error_of([&] { read_llama(config); });
  };
  const Json factors = {1, 1};
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
    expect_parts(with(key, {{"full_attention", {{"rope_type", "default"}}}}), {"got \"full_attention\""});
    EXPECT_EQ(with(key, 3), fmt::format("[c.json] expected {} to be an object, got 3", key));
  }
  EXPECT_EQ(with("partial_rotary_factor", 0.5), "[c.json] expected a partial_rotary_factor of 1, got 0.5");
}

TEST(HuggingFace, PublishedConfigurationsAreRead) {
  const Json files = stored("hugging_face_configs.json"), llama = files["llama"];
  const auto with = [&](const Json& members) {
    Json config = llama;
    config.update(members);
    return read_llama(config);
  };
  EXPECT_EQ(read_llama(llama).rope_scaling.kind, nn::RopeScaling::Kind::none);
  EXPECT_EQ(read_llama(llama).rope_theta, 500000);
  const nn::LlamaConfig one = with(files["llama 3.1"]);
  EXPECT_EQ(one.rope_scaling.kind, nn::RopeScaling::Kind::llama3);
  EXPECT_EQ(one.rope_scaling.factor, 8);
  EXPECT_EQ(one.rope_scaling.trained_length, 8192);
  EXPECT_EQ(one.rope_theta, 500000);
  for (const Json& members : files["more members of llama"])
    EXPECT_EQ(error_of([&] { with(members); }), "no error") << members;
  EXPECT_EQ(nn::gpt_config_of_hugging_face(files["gpt2"].dump(), "c.json").vocab_size, 50257);
}

// A key that is not known may change the model, as may one that is harmless only at its default.
TEST(HuggingFace, KeysThatChangeTheModelAreErrors) {
  const Json llama = stored("llama2_tiny/config.json"), gpt2 = stored("hugging_face_gpt2/config.json");
  const auto error = [](Json config, const char* key, const Json& value) {
    const bool is_llama = config["model_type"] == "llama";
    config[key] = value;
    const std::string text = config.dump();
    return is_llama ? error_of([&] { nn::llama_config_of_hugging_face(text, "c.json"); })
                    : error_of([&] { nn::gpt_config_of_hugging_face(text, "c.json"); });
  };
  const Json files = stored("hugging_face_configs.json"), unknown = files["members of other models"];
  const Json at_defaults = Json::parse(R"({"is_encoder_decoder": [false, true], "add_cross_attention": [false, true],
      "pruned_heads": [{}, {"0": [1]}]})");
  for (const Json& config : {llama, gpt2}) {
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
  for (const Json& good : {Json(5), Json(nullptr), Json({5, 6}), Json(-1)})
    EXPECT_NO_THROW(nn::ends_of_hugging_face(Json{{"eos_token_id", good}}.dump(), "g.json"));
  EXPECT_ERROR(nn::ends_of_hugging_face(R"({"eos_token_id": [5, "a"]})", "g.json"));
}

}  // namespace
}  // namespace tapegrad::tests
