// LoRA: updates of low rank, their targets, and adapters in PEFT's format.
#include <tapegrad/tests/nn/models/small_models.h>
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::nn {
namespace {

using namespace tests;

struct LoraNet {
  Linear up{3, 5}, down{5, 2, false};
  Tensor operator()(const Tensor& x) const { return down(tanh(up(x))); }
};

GPTModel small_gpt(bool qkv_bias = true) {
  manual_seed(3);
  GPTConfig config = small_decoder(11, 6);
  config.qkv_bias = qkv_bias;
  config.drop_rate = 0;
  return evaluated(GPTModel(config));
}

// Gives updates that change something.
template <class Model>
void fill_updates(Model& model) {
  for (const auto& [name, p] : named_parameters(model))
    if (name.ends_with("lora_B.weight")) init::normal(p, 0, 0.3);
}

TEST(Lora, AddsAnUpdateToEveryTarget) {
  manual_seed(1);
  LoraNet net;
  const Tensor x = randn({4, 3}), before = net(x);
  EXPECT_EQ(lora(net, {.rank = 2, .alpha = 6, .targets = {"up"}}), Names{"up"});
  EXPECT_TRUE(has_lora(net));
  EXPECT_TEXT(names_of(state_dict(net)));
  EXPECT_EQ(count_trainable_parameters(net), 2 * 3 + 5 * 2);
  EXPECT_EQ(net(x).to_vector<float>(), before.to_vector<float>());  // B is 0
  fill_updates(net);
  const LowRank& update = *net.up.weight.low_rank;
  const Tensor up = linear(x, net.up.weight, net.up.bias) + 3 * matmul(matmul(x, update.a->t()), update.b->t());
  expect_near(net(x), linear(tanh(up), net.down.weight));

  LoraNet copy = clone(net);
  EXPECT_EQ(copy(x).to_vector<float>(), net(x).to_vector<float>());
  EXPECT_EQ(merge_lora(copy), 1);
  EXPECT_FALSE(has_lora(copy));
  EXPECT_EQ(names_of(state_dict(copy)), (Names{"up.weight", "up.bias", "down.weight"}));
  expect_near(copy(x), net(x));
  EXPECT_EQ(merge_lora(copy), 0);
}

TEST(Lora, TrainsNothingElse) {
  manual_seed(1);
  LoraNet net;
  lora(net, {.rank = 2, .targets = {"*"}});
  EXPECT_TEXT(names_of(trainable_parameters(net)));
  optim::AdamW adam(trainable_parameters(net), {.lr = 0.1, .weight_decay = 0.5});
  const NamedTensors before = state_dict(clone(net));
  const Tensor x = randn({4, 3}), y = randn({4, 2});
  double first = 0, last = 0;
  for (int step = 0; step < 20; ++step) {
    Tape tape;
    const Tensor loss = mse_loss(net(x), y);
    (step == 0 ? first : last) = loss.item();
    adam.step(tape.backward(loss));
  }
  EXPECT_LT(last, first / 2);
  const NamedTensors after = state_dict(net);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool same = before[i].tensor.to_vector<float>() == after[i].tensor.to_vector<float>();
    EXPECT_EQ(same, before[i].name.find("lora_") == std::string::npos) << before[i].name;
  }
}

TEST(Lora, PatternsFitPathsAndTheirEnds) {
  for (const char* pattern : {"W_query", "att.W_query", "trf_blocks.[01].*", "W_*"})
    EXPECT_TRUE(matches(pattern, "trf_blocks.0.att.W_query")) << pattern;
  for (const char* pattern : {"query", "trf_blocks"}) EXPECT_FALSE(matches(pattern, "trf_blocks.0.att.W_query"));
  GPTModel model = small_gpt();
  EXPECT_TEXT(lora(model, {.targets = {"trf_blocks.1.att.W_?????", "ff.layers.2"}}));
}

TEST(Lora, ErrorsNameWhatIsWrong) {
  LoraNet net;
  EXPECT_ERROR(lora(net, {.targets = {"up", "sideways"}}));
  EXPECT_EQ(error_of([&] { lora(net, {}); }), "[lora] expected targets, got none");
  EXPECT_EQ(error_of([&] { lora(net, {.rank = 0, .targets = {"up"}}); }), "[lora] expected rank > 0, got 0");
  Dropout none;
  EXPECT_EQ(error_of([&] { lora(none, {.targets = {"up"}}); }), "[lora] the model has no linear layers");
  LoraNet twice;
  lora(twice, {.targets = {"up"}});
  EXPECT_ERROR(lora(twice, {.targets = {"up"}}));
  EXPECT_EQ(error_of([] { LowRank(2, 3, 1, 0); }), "[lora] expected alpha > 0, got 0");
  GPTModel model = small_gpt();
  lora(model, {.targets = {"W_query"}});
  store(model, "int8");
  EXPECT_ERROR(merge_lora(model));
  GPTModel packed = small_gpt();
  store(packed, "int8");
  EXPECT_ERROR(lora(packed, {.targets = {"W_query"}}));
}

// --- adapters ---

const Tensor kIds = tensor(std::vector<int64_t>{1, 2, 3, 4, 5, 10, 0, 7}, {2, 4});

using Adapters = InAFolder;

TEST_F(Adapters, IsWrittenAndReadUnderPeftsNames) {
  GPTModel model = small_gpt();
  lora(model, {.rank = 3, .alpha = 6, .targets = {"c_attn", "mlp.c_proj"}, .dropout = 0.1}, gpt2_adapter_names);
  EXPECT_TRUE(
      model.trf_blocks[0].att.query.weight.low_rank->a.tied_to(model.trf_blocks[0].att.value.weight.low_rank->a));
  EXPECT_FALSE(
      model.trf_blocks[0].att.query.weight.low_rank->a.tied_to(model.trf_blocks[1].att.query.weight.low_rank->a));
  fill_updates(model);
  eval(model);
  save_adapter(model, folder / "adapter", {.base_model = "gpt2", .names = gpt2_adapter_names, .fan_in_fan_out = true});
  const SafeTensors file = load_safetensors(folder / "adapter/adapter_model.safetensors");
  EXPECT_EQ(file.tensors.size(), 8U);
  EXPECT_EQ(file["base_model.model.transformer.h.1.attn.c_attn.lora_A.weight"].shape(), Shape({3, 8}));
  EXPECT_EQ(file["base_model.model.transformer.h.1.attn.c_attn.lora_B.weight"].shape(), Shape({24, 3}));
  EXPECT_EQ(file["base_model.model.transformer.h.0.mlp.c_proj.lora_A.weight"].shape(), Shape({3, 32}));
  const auto config = Json::parse(slurp(folder / "adapter/adapter_config.json"));
  EXPECT_EQ(config["peft_type"], "LORA");
  EXPECT_EQ(config["r"], 3);
  EXPECT_EQ(config["lora_alpha"], 6);
  EXPECT_EQ(config["lora_dropout"], 0.1);
  EXPECT_EQ(config["fan_in_fan_out"], true);
  EXPECT_EQ(config["base_model_name_or_path"], "gpt2");
  EXPECT_EQ(config["target_modules"], (Names{"c_attn", "mlp.c_proj"}));

  const Tensor expected = model(kIds);
  GPTModel other = small_gpt();
  load_adapter(other, folder / "adapter", gpt2_adapter_names);
  eval(other);
  EXPECT_EQ(other(kIds).to_vector<float>(), expected.to_vector<float>());
  EXPECT_EQ(count_trainable_parameters(other), count_trainable_parameters(model));
  GPTModel merged = small_gpt();  // to_hugging_face merges
  load_state_dict(merged, from_hugging_face(to_hugging_face(other), merged.config));
  expect_near(merged(kIds), expected);
  GPTModel packed = small_gpt();
  store(packed, "int8");
  const Tensor plain = packed(kIds);
  load_adapter(packed, folder / "adapter", gpt2_adapter_names);
  eval(packed);
  EXPECT_NE(packed(kIds).to_vector<float>(), plain.to_vector<float>());
  EXPECT_LT(max(abs(packed(kIds) - expected)).item(), 0.1);
}

// Query, key and value with As of their own become one update of PEFT's c_attn.
TEST_F(Adapters, JoinsUpdatesThatShareNoA) {
  GPTModel model = small_gpt();
  lora(model, {.rank = 2, .alpha = 4, .targets = {"trf_blocks.0.att.W_query", "trf_blocks.0.att.W_value", "out_proj"}},
       gpt2_adapter_names);
  fill_updates(model);
  save_adapter(model, folder / "adapter", {.names = gpt2_adapter_names});
  const SafeTensors file = load_safetensors(folder / "adapter/adapter_model.safetensors");
  EXPECT_EQ(file["base_model.model.transformer.h.0.attn.c_attn.lora_A.weight"].shape(), Shape({4, 8}));
  const auto config = Json::parse(slurp(folder / "adapter/adapter_config.json"));
  EXPECT_EQ(config["r"], 4);
  EXPECT_EQ(config["rank_pattern"], Json::parse(R"({"h.0.attn.c_proj": 2, "h.1.attn.c_proj": 2})"));
  EXPECT_EQ(config["alpha_pattern"], Json::parse(R"({"h.0.attn.c_proj": 4, "h.1.attn.c_proj": 4})"));
  EXPECT_EQ(config["target_modules"], (Names{"attn.c_proj", "transformer.h.0.attn.c_attn"}));
  GPTModel other = small_gpt();
  load_adapter(other, folder / "adapter", gpt2_adapter_names);
  expect_near(other(kIds), model(kIds));
}

TEST_F(Adapters, OwnPathsWithoutNames) {
  manual_seed(1);
  LoraNet net;
  const LoraNet plain = clone(net);
  lora(net, {.rank = 2, .targets = {"down"}});
  fill_updates(net);
  save_adapter(net, folder / "a");
  EXPECT_TEXT(names_of(load_safetensors(folder / "a/adapter_model.safetensors").tensors));
  LoraNet other = clone(plain);
  load_adapter(other, folder / "a");
  const Tensor x = randn({4, 3});
  EXPECT_EQ(other(x).to_vector<float>(), net(x).to_vector<float>());
  EXPECT_ERROR(save_adapter(plain, folder / "b"));
}

// Under every rule for alpha and rank that PEFT has for single layers (make_peft_patterns.py).
TEST_F(Adapters, PatternsAreThoseOfPeft) {
  const std::string data = std::string(tests::kTestsDir) + "/data/";
  const Json file = Json::parse(slurp(data + "peft_patterns/cases.json"));
  const std::string base = data + "llama2_tiny/", text = slurp(data + "peft_patterns/adapter_config.json");
  std::filesystem::copy(data + "peft_patterns/adapter_model.safetensors", folder / "adapter_model.safetensors");
  for (const auto& one : file["cases"]) {
    SCOPED_TRACE(one["members"].dump());
    Json config = Json::parse(text);
    config.update(one["members"]);
    spill(folder / "adapter_config.json", config.dump());
    LlamaModel model(llama_config_of_hugging_face(slurp(base + "config.json"), "config.json"));
    load_state_dict(model, load_safetensors(base + "model.safetensors").tensors);
    load_adapter(model, folder.path().string());
    eval(model);
    const Tensor logits = model(tests::ids(file["ids"])).select(0, 0).select(0, -1);
    tests::expect_close(narrow(logits, 0, 0, 12), one["logits"], {2e-5, 2e-5}, "logits");
  }
}

TEST_F(Adapters, ConfigurationsOfEveryPeftAreRead) {
  GPTModel model = small_gpt();
  lora(model, {.rank = 2, .targets = {"c_attn"}}, gpt2_adapter_names);
  save_adapter(model, folder / "a", {.names = gpt2_adapter_names});
  const Json versions = stored("peft_versions.json");
  Json config = versions["first"];
  for (const Json& more : versions["added"]) {
    config.update(more["members"]);
    spill(folder / "a/adapter_config.json", config.dump());
    GPTModel other = small_gpt();
    EXPECT_EQ(error_of([&] { load_adapter(other, folder / "a", gpt2_adapter_names); }), "no error") << more;
  }
}

TEST_F(Adapters, OfAnotherModelIsRejectedByName) {
  const std::string a = folder / "a", file = a + "/adapter_model.safetensors", config = a + "/adapter_config.json";
  GPTModel model = small_gpt();
  lora(model, {.rank = 2, .targets = {"c_attn"}}, gpt2_adapter_names);
  save_adapter(model, a, {.names = gpt2_adapter_names});
  const std::string good_config = slurp(config), good_file = slurp(file);
  const auto load = [&](GPTModel other) {
    const std::string what = error_of([&] { load_adapter(other, a, gpt2_adapter_names); });
    EXPECT_FALSE(has_lora(other));
    EXPECT_GT(count_trainable_parameters(other), 0);
    return what;
  };
  const auto gpt = [](int64_t width, int64_t layers) {
    return GPTModel({.vocab_size = 11, .context_length = 6, .emb_dim = width, .n_heads = 2, .n_layers = layers});
  };
  const std::string misfit = "[adapter] " + file + " does not fit the model: ";
  EXPECT_EQ(load(gpt(12, 2)), misfit + "\"transformer.h.0.attn.c_attn\" is [36, 12], got A [2, 8] and B [24, 2]");
  EXPECT_EQ(load(gpt(8, 1)), misfit + "it has no linear layer \"transformer.h.1.attn.c_attn\"");
  EXPECT_EQ(load(gpt(8, 3)),
            misfit + "it has no update for \"transformer.h.2.attn.c_attn\", which its target_modules name");

  const auto with = [&](const Json& members) {
    auto json = Json::parse(good_config);
    json.update(members);
    spill(config, json.dump());
    return load(small_gpt());
  };
  const std::string at = "[adapter] " + config + ": ";
  for (const auto& [members, text] : pairs_of_lines("data/adapter_errors.txt"))
    EXPECT_EQ(with(Json::parse(members)), at + text);
  // The rank that the scale is made of is that of the tensors.
  const std::string ranks = misfit + "\"transformer.h.0.attn.c_attn\" has the rank 2, adapter_config.json has ";
  EXPECT_EQ(with({{"r", 4}}), ranks + "4");
  EXPECT_EQ(with({{"rank_pattern", {{"h.0.attn.c_attn", 3}}}}), ranks + "3");
  EXPECT_EQ(with({{"r", nullptr}}), ranks + "8");  // as PEFT has it
  spill(config, "[]");
  EXPECT_EQ(load(small_gpt()), at + "expected an object, got array");
  // Starts of training that changed the base model's weights.
  for (const char* init :
       {"pissa", "pissa_niter_4", "PiSSA", "olora", "OLoRA", "corda", "loftq", "lora_ga", "mica", "new"}) {
    EXPECT_EQ(with({{"init_lora_weights", init}}),
              at + "expected updates of the base model's own weights, got init_lora_weights \"" + init +
                  "\", which changed them (convert it with PEFT: save_pretrained(..., "
                  "path_initial_model_for_weight_conversion=...))");
  }
  spill(config, "{");
  EXPECT_EQ(load(small_gpt()), at + "is not complete JSON: it ends after 1 bytes (was its download interrupted?)");
  spill(config, good_config);

  const NamedTensors tensors = load_safetensors(file).tensors;
  const std::string in = "[adapter] " + file + ": ";
  save_safetensors(file, {tensors[0], tensors[2], tensors[3]});
  EXPECT_EQ(load(small_gpt()), in + "\"base_model.model.transformer.h.0.attn.c_attn.lora_B.weight\" is missing");
  save_safetensors(file, {{"wte.weight", tensors[0].tensor}});
  EXPECT_EQ(load(small_gpt()), in + "expected base_model.model.<layer>.lora_A.weight or lora_B.weight, got the tensor "
                                    "\"wte.weight\"");
  save_safetensors(file, {{tensors[0].name, zeros({3, 8})}, tensors[1], tensors[2], tensors[3]});
  EXPECT_EQ(load(small_gpt()),
            in + "expected one rank for \"transformer.h.0.attn.c_attn\", got A [3, 8] and B [24, 2]");
  spill(file, good_file.substr(0, good_file.size() - 4));
  EXPECT_NE(load(small_gpt()).find("[safetensors] " + file), std::string::npos);
  std::filesystem::remove(file);
  EXPECT_EQ(load(small_gpt()), "[adapter] " + a + " has no adapter_model.safetensors");
}

}  // namespace
}  // namespace tapegrad::nn
