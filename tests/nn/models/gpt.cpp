// GPT: parameters, values and gradients against PyTorch, causality, and activation checkpointing.
// ctest: products
#include <tapegrad/tests/nn/models/stored_gpt.h>
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using nlohmann::json;
using namespace tests;

TEST(Gpt, LogitsLossAndEveryGradientEqualPyTorchs) {
  for (const json& expected : gpt_golden()["cases"]) {
    for (const DType dtype : {kFloat64, kFloat32}) {
      nn::GPTModel model(golden_config(0, expected["qkv_bias"], expected["tied"]));
      nn::to(model, dtype);
      set_weights(model);
      const bool wide = dtype == kFloat64;
      Tape tape;
      const Tensor logits = model(ids(gpt_golden()["ids"]));
      const double room = wide ? 1e-12 : 1e-5;
      expect_close(logits, expected["logits"], {room, room}, "logits");
      const Tensor loss = cross_entropy(logits, ids(gpt_golden()["target"]));
      EXPECT_NEAR(loss.item(), expected["loss"].get<double>(), room);
      expect_close_gradients(model, tape.backward(loss), expected["grads"],
                             {.relative = wide ? 1e-9 : 1e-4, .absolute = wide ? 1e-10 : 1e-6});
    }
  }
}

TEST(Gpt, StartsAndTrainsAsInPyTorch) {
  manual_seed(123);
  nn::GPTModel model(golden_config(0.1));
  const auto parameters = nn::named_parameters(model);
  ASSERT_EQ(parameters.size(), gpt_golden()["start"].size());
  for (const auto& [name, parameter] : parameters) {
    const json& expected = gpt_golden()["start"][name];
    EXPECT_NEAR(sum(parameter.tensor().to(kFloat64)).item(), expected["sum"].get<double>(), 1e-6) << name;
    expect_close(parameter.tensor().reshape({-1}).slice(0, 0, 2), expected["first"],
                 {.relative = 1e-6, .absolute = 1e-7}, name);
  }
  optim::AdamW adam(nn::parameters(model), {.lr = 4e-3, .weight_decay = 0.1});
  for (const json& expected : gpt_golden()["losses"]) {
    Tape tape;
    const Tensor loss = cross_entropy(model(ids(gpt_golden()["ids"])), ids(gpt_golden()["target"]));
    EXPECT_NEAR(loss.item(), expected.get<double>(), 2e-5);
    adam.step(tape.backward(loss));
  }
}

TEST(Gpt, CountsParametersWithoutMakingThem) {
  for (const bool bias : {false, true}) {
    for (const bool tied : {false, true}) {
      const nn::GPTConfig config = golden_config(0, bias, tied);
      EXPECT_EQ(config.parameter_count(), nn::count_parameters(nn::GPTModel(config)));
    }
  }
}

TEST(Gpt, CountsParametersOfAnySizeWithoutMemoryAndDraws) {
  manual_seed(3);
  const double first = rand({1}).item();
  manual_seed(3);
  const int64_t parameters = nn::Parameter::alive(), held = pool::stats().reserved;
  EXPECT_EQ(nn::GPTConfig{}.parameter_count(), 163'009'536);
  const nn::GPTConfig wide{.vocab_size = 1'000'000, .emb_dim = 1'000'000, .n_heads = 1'000'000, .n_layers = 100'000};
  const double c = 1e6;
  EXPECT_NEAR(static_cast<double>(wide.parameter_count()) / (12 * c * c * 1e5), 1, 1e-4);
  EXPECT_EQ(nn::Parameter::alive(), parameters);
  EXPECT_LT(pool::stats().reserved - held, 1 << 20);
  EXPECT_EQ(rand({1}).item(), first);
}

// Tutorial 000 saves the causal mask of every block.
TEST(Gpt, MasksOfTutorial000) {
  const nn::GPTConfig config{.vocab_size = 5, .context_length = 3, .emb_dim = 4, .n_heads = 2, .n_layers = 2};
  nn::GPTModel model(config);
  NamedTensors state = nn::with_masks(nn::state_dict(model), config);
  EXPECT_EQ(state.back().name, "trf_blocks.1.att.mask");
  EXPECT_EQ(state.back().tensor.to_vector<float>(), (std::vector<float>{0, 1, 1, 0, 0, 1, 0, 0, 0}));
  EXPECT_THROW(nn::load_state_dict(model, state), Error);
  EXPECT_TRUE(nn::load_state_dict(model, nn::without_masks(state)).unexpected.empty());
  EXPECT_EQ(nn::without_masks(state).size(), nn::state_dict(model).size());
  state.back().tensor = ones({3, 3});
  EXPECT_ERROR(nn::without_masks(state));
}

TEST(Gpt, ShapesAndAttentionMaps) {
  nn::GPTModel model(golden_config());
  nn::eval(model);
  nn::AttentionMaps maps;
  EXPECT_EQ(model(ids(gpt_golden()["ids"]), nullptr, &maps).shape(), (Shape{2, 6, 17}));
  ASSERT_EQ(maps.size(), 2U);
  EXPECT_EQ(maps[1].name, "trf_blocks.1.att");
  EXPECT_EQ(maps[1].tensor.shape(), (Shape{2, 2, 6, 6}));
  const Tensor later = triu(maps[1].tensor, 1);
  EXPECT_EQ(sum(abs(later)).item(), 0);
}

TEST(Gpt, IsCausal) {
  nn::GPTModel model(golden_config());
  nn::eval(model);
  const Tensor a = tensor({{3, 1, 4, 1, 5, 9}}), b = tensor({{3, 1, 4, 2, 6, 0}});
  EXPECT_TRUE(tests::same_bits(narrow(model(a), 1, 0, 3), narrow(model(b), 1, 0, 3)));
  EXPECT_FALSE(tests::same_bits(narrow(model(a), 1, 3, 1), narrow(model(b), 1, 3, 1)));
  // Nor does a loss on early positions reach later tokens.
  Tape tape;
  const Gradients grads = tape.backward(sum(narrow(model(a), 1, 0, 2)));
  EXPECT_EQ(sum(abs(narrow(grads[*model.pos_emb.table()], 0, 2, 6))).item(), 0);
}

TEST(Gpt, RecomputedBlocksGiveTheSameBits) {
  manual_seed(5);
  nn::GPTModel model(golden_config(0.2));
  const auto run = [&](bool recompute) {
    model.recompute_blocks = recompute;
    manual_seed(9);
    Tape tape;
    const Tensor loss = cross_entropy(model(ids(gpt_golden()["ids"])), ids(gpt_golden()["target"]));
    std::vector<Tensor> found{loss.detach()};
    const Gradients grads = tape.backward(loss);
    for (const NamedTensor& p : nn::parameters(model)) found.push_back(grads[p.tensor]);
    found.push_back(rand({4}));  // the stream continues at the same position
    return found;
  };
  expect_same_results(run, {false, true});
  Tape tape;
  const Tensor loss = sum(model(ids(gpt_golden()["ids"])));
  EXPECT_ERROR(tape.backward(loss, {.create_graph = true}));
}

TEST(Gpt, ClonesAndKeepsNamesOfThePyTorchModel) {
  nn::GPTModel model(golden_config());
  nn::GPTModel copy = nn::clone(model);
  nn::eval(model);
  nn::eval(copy);
  EXPECT_TRUE(tests::same_bits(model(ids(gpt_golden()["ids"])), copy(ids(gpt_golden()["ids"]))));
  for (const auto& entry : nn::state_dict(copy)) EXPECT_TRUE(gpt_golden()["start"].contains(entry.name)) << entry.name;
}

TEST(Gpt, ConvertsToHuggingFacesLayoutAndBack) {
  for (const bool tied : {false, true}) {
    nn::GPTModel model(golden_config(0, true, tied));
    NamedTensors theirs = nn::to_hugging_face(model);
    const auto find = [&](const std::string& name) {
      for (const NamedTensor& t : theirs) {
        if (t.name == name) return t.tensor;
      }
      return Tensor();
    };
    const Tensor joined = find("transformer.h.1.attn.c_attn.weight");
    EXPECT_EQ(joined.shape(), (Shape{8, 24}));
    EXPECT_TRUE(tests::same_bits(narrow(joined, 1, 8, 8).t(), model.trf_blocks[1].att.key->weight));
    EXPECT_EQ(find("transformer.h.0.mlp.c_fc.weight").shape(), (Shape{8, 32}));
    EXPECT_EQ(find("lm_head.weight").defined(), !tied);
    theirs.push_back({"transformer.h.0.attn.bias", ones({1, 1, 8, 8}, kBool)});  // buffers of older files
    theirs.push_back({"transformer.h.0.attn.masked_bias", zeros({})});
    if (tied) theirs.push_back({"lm_head.weight", model.tok_emb.weight.tensor().detach()});
    for (const bool prefix : {true, false}) {
      NamedTensors given;
      for (const NamedTensor& t : theirs) {
        const bool cut = !prefix && t.name.starts_with("transformer.");
        given.push_back({cut ? t.name.substr(12) : t.name, t.tensor});
      }
      nn::GPTModel copy(golden_config(0, true, tied));
      nn::load_state_dict(copy, nn::from_hugging_face(given, copy.config));
      tests::expect_same(nn::state_dict(model), nn::state_dict(copy));
    }
    const nn::GPTConfig config =
        nn::gpt_config_of_hugging_face(nn::to_hugging_face_config(model.config), "config.json");
    EXPECT_EQ(config.parameter_count(), model.config.parameter_count());
    EXPECT_EQ(config.context_length, 8);
  }
  const auto refused = [](const char* json) {
    return error_of([&] { nn::gpt_config_of_hugging_face(json, "config.json"); });
  };
  EXPECT_EQ(refused(R"({"model_type":"bert"})"), "[config.json] expected the model_type gpt2, got \"bert\"");
  const std::string sizes = R"("vocab_size":9,"n_positions":8,"n_embd":8,"n_head":2,"n_layer":1)";
  EXPECT_EQ(refused(("{" + sizes + R"(,"activation_function":"relu"})").c_str()),
            "[config.json] expected the activation_function gelu_new, got \"relu\"");
  EXPECT_EQ(refused(("{" + sizes + R"(,"n_inner":16})").c_str()),
            "[config.json] expected n_inner 32 (4 n_embd), got 16");
  EXPECT_EQ(refused(("{" + sizes + R"(,"layer_norm_epsilon":1e-6})").c_str()),
            "[config.json] expected layer_norm_epsilon 1e-05, got 1e-06");
  EXPECT_EQ(refused(("{" + sizes + R"(,"scale_attn_weights":false})").c_str()),
            "[config.json] expected scale_attn_weights true, got false");
  EXPECT_EQ(refused(R"({"vocab_size":9,"n_positions":8,"n_embd":8,"n_head":3,"n_layer":1})"),
            "[config.json] emb_dim 8 is not divisible by n_heads 3 (each head takes an equal share)");
}

// Whatever a member is, the error names the file and the member.
TEST(Gpt, ConfigurationsOfHuggingFaceWithWrongMembers) {
  const auto read = [](const nlohmann::json& json) {
    return error_of([&] { nn::gpt_config_of_hugging_face(json.dump(), "c.json"); });
  };
  for (const auto& [json, type] : {std::pair{nlohmann::json::array(), "array"},
                                   {nlohmann::json(3), "number"},
                                   {nlohmann::json("x"), "string"},
                                   {nlohmann::json(), "null"}})
    EXPECT_EQ(read(json), fmt::format("[c.json] expected an object, got {}", type));
  const nn::GPTConfig small{.vocab_size = 9, .context_length = 8, .emb_dim = 8, .n_heads = 2, .n_layers = 1};
  const auto good = nlohmann::json::parse(nn::to_hugging_face_config(small));
  EXPECT_EQ(read(good), "no error");
  const nlohmann::json values{nullptr, true, -1, 0.5, 1e300, "4", nlohmann::json::array(), nlohmann::json::object()};
  int wrong = 0;
  for (const char* key : {"model_type", "vocab_size", "n_positions", "n_embd", "n_head", "n_layer", "n_inner",
                          "resid_pdrop", "tie_word_embeddings", "activation_function", "layer_norm_epsilon",
                          "scale_attn_weights", "scale_attn_by_inverse_layer_idx"}) {
    for (const nlohmann::json& value : values) {
      nlohmann::json changed = good;
      changed[key] = value;
      const std::string error = read(changed);
      if (error == "no error") continue;
      ++wrong;
      const bool position = std::string(key) == "n_positions" && value.is_null();  // then n_ctx counts
      const bool named = error.starts_with("[c.json] ") && error.find("json.exception") == std::string::npos &&
                         (error.find(key) != std::string::npos || error.find("drop_rate") != std::string::npos);
      EXPECT_TRUE(named || position) << error;
    }
  }
  EXPECT_GT(wrong, 80);
  EXPECT_TEXT(read({{"vocab_size", "9"}}));
}

TEST(Gpt, RejectsInvalidConfigurations) {
  EXPECT_ERROR(nn::GPTModel({.emb_dim = 10, .n_heads = 3}));
  EXPECT_EQ(error_of([] { nn::GPTModel({.context_length = 0}); }), "[gpt_config] expected context_length > 0, got 0");
  EXPECT_EQ(error_of([] { nn::GPTModel({.drop_rate = 1.5}); }), "[gpt_config] expected drop_rate in [0, 1], got 1.5");
  EXPECT_ERROR(nn::gpt_preset("gpt3"));
  nn::GPTModel model(golden_config());
  EXPECT_ERROR(model(zeros({1, 9}, kInt64)));
  EXPECT_ERROR(model(zeros({1, 4})));
  EXPECT_ERROR(model(zeros({1, 4}, kInt32)));
  EXPECT_ERROR(model(zeros({4}, kInt64)));
  EXPECT_ERROR(model.trf_blocks[0].att(zeros({2, 8})));
}

}  // namespace
}  // namespace tapegrad
