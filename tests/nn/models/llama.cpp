// Llama: values, gradients and greedy tokens against transformers, the cache, scaled RoPE, and Hugging Face's files.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using nlohmann::json;
using tests::error_of;
using tests::ids;

// Written by tests/data/make_llama.py with transformers.
constexpr const char* kFolders[] = {"llama2_tiny", "llama3_tiny"};

std::string folder_of(const std::string& name) { return std::string(tests::kTestsDir) + "/data/" + name; }

nn::LlamaModel loaded(const std::string& name) {
  const std::string folder = folder_of(name), file = folder + "/config.json";
  const nn::init::Skip skip;
  nn::LlamaModel model(nn::llama_config_of_hugging_face(tests::slurp(file), file));
  NamedTensors state;
  for (const NamedTensor& entry :
       load_safetensors(folder + (name == "llama2_tiny" ? "/model.safetensors" : "")).tensors)
    state.push_back(entry);
  nn::load_state_dict(model, nn::from_hugging_face(state, model.config));
  nn::eval(model);
  return model;
}

double difference(const Tensor& a, const Tensor& b) {
  return amax(abs(a.detach().to(kFloat64) - b.detach().to(kFloat64))).item();
}

nn::LlamaConfig small_llama() {
  return {.vocab_size = 11,
          .hidden_size = 8,
          .intermediate_size = 12,
          .num_hidden_layers = 2,
          .num_attention_heads = 4,
          .num_key_value_heads = 2,
          .max_position_embeddings = 16};
}

TEST(Llama, LogitsLossAndEveryGradientEqualTransformers) {
  for (const std::string name : kFolders) {
    SCOPED_TRACE(name);
    const json data = tests::stored(name + "/expected.json");
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
    const json data = tests::stored(name + "/expected.json");
    const nn::LlamaModel model = loaded(name);
    const auto count = static_cast<int64_t>(data["greedy"].size());
    for (const bool cached : {true, false}) {
      nn::DecoderNext next(model, cached);
      const Tensor found = nn::generate(next, ids(json::array({data["start"]})), {.max_new_tokens = count}).tokens;
      EXPECT_EQ(found.to_vector<int64_t>(), data["greedy"].get<std::vector<int64_t>>());
    }
    const std::vector<std::vector<int64_t>> prompts{{1, 2, 3}, data["start"].get<std::vector<int64_t>>()};
    const nn::Generated both = nn::generate_each(model, prompts, {.max_new_tokens = count}, 0);
    EXPECT_EQ(both.tokens[1].to_vector<int64_t>(), data["greedy"].get<std::vector<int64_t>>());
  }
}

std::vector<Tensor> loss_and_gradients(const nn::LlamaModel& model, const Tensor& in) {
  Tape tape;
  const Tensor loss = cross_entropy(model(in), in);
  const Gradients grads = tape.backward(loss);
  std::vector<Tensor> found{loss.detach()};
  for (const auto& [key, parameter] : nn::named_parameters(model)) found.push_back(grads[parameter]);
  return found;
}

TEST(Llama, GivesTheSameBitsForEveryNumberOfThreads) {
  const Tensor in = ids(tests::stored("llama3_tiny/expected.json")["ids"]);
  tests::expect_same_with_any_threads([&] { return loss_and_gradients(loaded("llama3_tiny"), in); });
}

TEST(Llama, ParametersAndTheirCount) {
  nn::LlamaConfig config = small_llama();
  for (const bool tied : {false, true}) {
    for (const bool bias : {false, true}) {
      config.tie_word_embeddings = tied;
      config.attention_bias = config.mlp_bias = bias;
      EXPECT_EQ(config.parameter_count(), nn::count_parameters(nn::LlamaModel(config)));
    }
  }
  manual_seed(1);
  const nn::LlamaModel model(config);
  EXPECT_NEAR(tapegrad::std(model.embed_tokens.weight.tensor()).item(), 0.02, 0.005);
  EXPECT_EQ(sum(abs(model.layers[0].mlp.up_proj.bias)).item(), 0);
}

TEST(Llama, RecomputedBlocksGiveTheSameGradients) {
  manual_seed(1);
  nn::LlamaModel model(small_llama());
  const auto results = [&](bool recompute) {
    model.recompute_blocks = recompute;
    return loss_and_gradients(model, tensor({{3, 1, 4, 1, 5}}));
  };
  tests::expect_same_results(results, {false, true});
}

TEST(Llama, WeightsInFewerBytes) {
  const nn::LlamaModel wide = loaded("llama2_tiny");
  const Tensor in = ids(tests::stored("llama2_tiny/expected.json")["ids"]), logits = wide(in);
  nn::LlamaModel half = loaded("llama2_tiny"), quarter = loaded("llama2_tiny");
  nn::store(half, "bfloat16");
  nn::store(quarter, "int8");
  EXPECT_EQ(half.layers[1].mlp.down_proj.weight->dtype(), kBFloat16);
  EXPECT_LT(difference(half(in), logits), 0.5);
  EXPECT_LT(difference(quarter(in), logits), 0.5);
  EXPECT_GT(difference(quarter(in), logits), 0);
  nn::LlamaModel again = [&] {
    const nn::init::Skip skip;
    nn::LlamaModel model(wide.config);
    nn::store(model, "int8");
    return model;
  }();
  nn::load_state_dict(again, nn::stored_state(nn::state_dict(wide), again));
  EXPECT_TRUE(tests::same_bits(again(in), quarter(in)));
  EXPECT_EQ(error_of([&] { nn::to_hugging_face(again); }), "[hugging_face] expected floating weights, got int8");
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
  EXPECT_TRUE(tests::same_bits((*copy)(in), (*any)(in)));
  nn::init::zeros(copy.as<nn::LlamaModel>()->lm_head.weight);
  EXPECT_FALSE(tests::same_bits((*copy)(in), (*any)(in)));
}

// The figures of transformers' formula, in turns.
TEST(Llama, ScaledRope) {
  nn::LlamaConfig config = small_llama();
  config.head_dim = 8;
  const std::vector<double> plain = nn::rope_speeds(config);
  config.rope_scaling = {.kind = nn::RopeScaling::Kind::linear, .factor = 4};
  EXPECT_DOUBLE_EQ(nn::rope_speeds(config)[1], plain[1] / 4);
  config.rope_scaling = {
      .kind = nn::RopeScaling::Kind::llama3, .factor = 8, .low = 1, .high = 4, .trained_length = 100};
  const std::vector<double> scaled = nn::rope_speeds(config);
  EXPECT_DOUBLE_EQ(scaled[0], plain[0]);  // 16 turns
  EXPECT_GT(scaled[1], plain[1] / 8);     // 1.6 turns
  EXPECT_LT(scaled[1], plain[1]);
  EXPECT_DOUBLE_EQ(scaled[2], plain[2] / 8);
}

TEST(Llama, RejectsWhatItDoesNotSupport) {
  const std::string good = nn::to_hugging_face_config(small_llama());
  const auto with = [&](const char* key, json value) {
    json changed = json::parse(good);
    changed[key] = std::move(value);
    return error_of([&] { nn::llama_config_of_hugging_face(changed.dump(), "c.json"); });
  };
  EXPECT_EQ(with("model_type", "mistral"), "[c.json] expected the model_type llama, got \"mistral\"");
  EXPECT_EQ(with("hidden_act", "gelu"), "[c.json] expected the hidden_act silu, got \"gelu\"");
  EXPECT_EQ(with("vocab_size", -1), "[c.json] expected vocab_size to be a whole number from 1 to 100000000, got -1");
  EXPECT_TEXT(with("num_key_value_heads", 3));
  EXPECT_TEXT(with("num_key_value_heads", 0));
  EXPECT_EQ(with("head_dim", 3), "[c.json] expected heads of an even size for rope, got 3");
  EXPECT_TEXT(with("rope_scaling", {{"type", "linear"}, {"factor", 1e308}}));
  EXPECT_TEXT(with("rope_scaling", {{"type", "yarn"}, {"factor", 2}, {"mscale", -1}}));
  EXPECT_EQ(with("rope_theta", 1e300), "[c.json] expected rope_theta to be a number in (1, 1000000000000], got 1e+300");
  EXPECT_EQ(with("rms_norm_eps", 2), "[c.json] expected rms_norm_eps to be a number in [0, 1], got 2");
  EXPECT_TEXT(with("rope_parameters", {{"partial_rotary_factor", 0.5}}));
  EXPECT_TEXT(with("quantization_config", {{"bits", 4}}));
  EXPECT_EQ(with("attention_bias", 1), "[c.json] expected attention_bias to be true or false, got 1");
  const nn::LlamaModel model(small_llama());
  EXPECT_ERROR(model(full({1, 17}, 0, kInt64)));
  EXPECT_ERROR(model(zeros({1, 2})));
}

}  // namespace
}  // namespace tapegrad
