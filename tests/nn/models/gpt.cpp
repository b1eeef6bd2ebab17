// GPT against PyTorch (data/make_gpt.py), activation checkpointing, and the cache of keys and values.
// ctest: products
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

nn::GPTConfig golden_config(double drop_rate = 0, bool qkv_bias = false, bool tied = false) {
  const Json& c = stored("gpt.json")["config"];
  return {.vocab_size = c["vocab_size"],
          .context_length = c["context_length"],
          .emb_dim = c["emb_dim"],
          .n_heads = c["n_heads"],
          .n_layers = c["n_layers"],
          .drop_rate = drop_rate,
          .qkv_bias = qkv_bias,
          .tied_head = tied};
}

TEST(Gpt, LogitsLossAndEveryGradientEqualPyTorchs) {
  for (const Json& expected : stored("gpt.json")["cases"]) {
    for (const DType dtype : {kFloat64, kFloat32}) {
      nn::GPTModel model(golden_config(0, expected["qkv_bias"], expected["tied"]));
      nn::to(model, dtype);
      set_weights(model);
      const bool wide = dtype == kFloat64;
      Tape tape;
      const Tensor logits = model(ids(stored("gpt.json")["ids"]));
      const double room = wide ? 1e-12 : 1e-5;
      expect_close(logits, expected["logits"], {room, room}, "logits");
      const Tensor loss = cross_entropy(logits, ids(stored("gpt.json")["target"]));
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
  ASSERT_EQ(parameters.size(), stored("gpt.json")["start"].size());
  for (const auto& [name, parameter] : parameters) {
    const Json& expected = stored("gpt.json")["start"][name];
    EXPECT_NEAR(sum(parameter.tensor().to(kFloat64)).item(), expected["sum"].get<double>(), 1e-6) << name;
    expect_close(parameter.tensor().reshape({-1}).slice(0, 0, 2), expected["first"],
                 {.relative = 1e-6, .absolute = 1e-7}, name);
  }
  optim::AdamW adam(nn::parameters(model), {.lr = 4e-3, .weight_decay = 0.1});
  for (const Json& expected : stored("gpt.json")["losses"]) {
    Tape tape;
    const Tensor loss = cross_entropy(model(ids(stored("gpt.json")["ids"])), ids(stored("gpt.json")["target"]));
    EXPECT_NEAR(loss.item(), expected.get<double>(), 2e-5);
    adam.step(tape.backward(loss));
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

TEST(Gpt, RecomputedBlocksGiveTheSameBits) {
  manual_seed(5);
  nn::GPTModel model(golden_config(0.2));
  const Tensor in = ids(stored("gpt.json")["ids"]), target = ids(stored("gpt.json")["target"]);
  const auto results = [&](bool recompute) {
    model.recompute_blocks = recompute;
    manual_seed(9);
    std::vector<Tensor> found = loss_and_gradients(model, [&] { return cross_entropy(model(in), target); });
    found.push_back(rand({4}));  // the stream continues at the same position
    return found;
  };
  expect_same_results(results, {false, true});
  EXPECT_ERROR(Tape().backward(sum(model(in)), {.create_graph = true}));
}

TEST(Gpt, ConvertsToHuggingFacesLayoutAndBack) {
  for (const bool tied : {false, true}) {
    nn::GPTModel model(golden_config(0, true, tied));
    NamedTensors theirs = nn::to_hugging_face(model);
    const auto find = [&](const char* name) {
      const auto at = std::ranges::find(theirs, name, &NamedTensor::name);
      return at == theirs.end() ? Tensor() : at->tensor;
    };
    const Tensor joined = find("transformer.h.1.attn.c_attn.weight");
    EXPECT_EQ(joined.shape(), (Shape{8, 24}));
    EXPECT_TRUE(same_bits(narrow(joined, 1, 8, 8).t(), model.trf_blocks[1].att.key->weight));
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
      expect_same(nn::state_dict(model), nn::state_dict(copy));
    }
    const nn::GPTConfig config =
        nn::gpt_config_of_hugging_face(nn::to_hugging_face_config(model.config), "config.json");
    EXPECT_EQ(config.parameter_count(), model.config.parameter_count());
    EXPECT_EQ(config.context_length, 8);
  }
  for (const auto& [json, text] : pairs_of_lines("data/gpt2_config_errors.txt"))
    EXPECT_EQ(error_of([&, &file = json] { nn::gpt_config_of_hugging_face(file, "config.json"); }), text) << json;
}

TEST(Gpt, ConfigurationsOfHuggingFaceWithWrongMembers) {
  const auto read = [](const Json& json) {
    return error_of([&] { nn::gpt_config_of_hugging_face(json.dump(), "c.json"); });
  };
  for (const auto& [json, type] :
       {std::pair{Json::array(), "array"}, {Json(3), "number"}, {Json("x"), "string"}, {Json(), "null"}})
    EXPECT_EQ(read(json), fmt::format("[c.json] expected an object, got {}", type));
  const nn::GPTConfig small{.vocab_size = 9, .context_length = 8, .emb_dim = 8, .n_heads = 2, .n_layers = 1};
  const auto good = Json::parse(nn::to_hugging_face_config(small));
  EXPECT_EQ(read(good), "no error");
  const Json values{nullptr, true, -1, 0.5, 1e300, "4", Json::array(), Json::object()};
  int wrong = 0;
  for (const char* key : {"model_type", "vocab_size", "n_positions", "n_embd", "n_head", "n_layer", "n_inner",
                          "resid_pdrop", "tie_word_embeddings", "activation_function", "layer_norm_epsilon",
                          "scale_attn_weights", "scale_attn_by_inverse_layer_idx"}) {
    for (const Json& value : values) {
      Json changed = good;
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

TEST(Gpt, CacheFollowsBeamsAndCanBeReset) {
  nn::GPTModel model(golden_config());
  nn::eval(model);
  const Tensor a = tensor({{3, 1, 4}, {2, 6, 5}}), next = tensor({7, 8, 9}).reshape({3, 1});
  nn::KVCache cache;
  model(a, &cache);
  cache.reorder(tensor({1, 1, 0}));
  EXPECT_EQ(cache.batch(), 3);
  const Tensor after = model(next, &cache);
  const Tensor whole = model(tensor({{2, 6, 5, 7}, {2, 6, 5, 8}, {3, 1, 4, 9}}));
  EXPECT_LE(amax(abs(after - narrow(whole, 1, 3, 1))).item(), 1e-5);
  cache.truncate(3);
  EXPECT_TRUE(same_bits(model(next, &cache), after));
  EXPECT_ERROR(cache.truncate(9));
  EXPECT_ERROR(model(tensor({1}).reshape({1, 1}), &cache));
  EXPECT_ERROR(model(tensor({{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}}), &cache));
  EXPECT_EQ(error_of([] { nn::KVCache().reorder(tensor({0})); }), "[kv_cache] an empty cache cannot be reordered");
  Tape tape;
  EXPECT_ERROR(model(next, &cache));
}

TEST(Gpt, ACacheRejectsKeysOfAnotherModel) {
  const auto pair = [](const Shape& keys, const Shape& values) { return nn::KeysAndValues{ones(keys), ones(values)}; };
  nn::KVCache cache;
  EXPECT_ERROR(cache.append(5, pair({1, 1, 4, 8}, {1, 1, 4, 8})));
  EXPECT_ERROR(cache.append(0, pair({1, 4, 8}, {1, 4, 8})));
  EXPECT_ERROR(cache.append(0, {}));
  EXPECT_ERROR(cache.append(0, pair({1, 1, 4, 8}, {1, 1, 70, 8})));
  EXPECT_EQ(cache.batch(), 0);

  cache.append(0, pair({1, 1, 4, 8}, {1, 1, 4, 6}));
  EXPECT_ERROR(cache.advance(5));
  EXPECT_ERROR(cache.advance(-1));
  EXPECT_ERROR(cache.append(1, pair({2, 1, 4, 8}, {2, 1, 4, 8})));
  cache.advance(4);
  // With one head more, the keys would be written past the end of the cache's memory, over another tensor.
  std::vector<Tensor> others;
  for (int i = 0; i < 64; ++i) others.push_back(zeros({64 * 64}));
  EXPECT_ERROR(cache.append(0, pair({1, 8, 1, 8}, {1, 8, 1, 6})));
  for (const Tensor& other : others) EXPECT_FALSE(any(other != 0.0));
  EXPECT_ERROR(cache.append(0, pair({1, 1, 1, 9}, {1, 1, 1, 6})));
  EXPECT_ERROR(cache.append(0, pair({1, 1, 1, 8}, {1, 1, 1, 8})));
  EXPECT_ERROR(cache.append(0, {ones({1, 1, 1, 8}), {}}));
  EXPECT_ERROR(cache.append(1, pair({1, 1, 1, 8}, {1, 1, 1, 6})));
  EXPECT_ERROR(cache.append_history({ones({1, 1, 1, 8}), {}}));
  EXPECT_ERROR(cache.advance(1));
  cache.append(0, pair({1, 1, 1, 8}, {1, 1, 1, 6}));
  cache.advance(1);
  EXPECT_EQ(cache.length(), 5);
}

TEST(Gpt, RowsOfIndependentSequencesNeedTheirOwnCaches) {
  nn::GPTModel model(golden_config());
  nn::eval(model);
  nn::KVCache cache;
  model(tensor({{3, 1, 4}}), &cache);
  const Tensor next = tensor({{7}, {8}});
  EXPECT_ERROR(model.hidden_each(next, std::vector<nn::KVCache*>{&cache, &cache}));
  EXPECT_ERROR(model.hidden_each(next, std::vector<nn::KVCache*>{&cache, nullptr}));
  const nn::MultiHeadSelfAttention attention({.d_in = 8, .d_out = 8, .num_heads = 2, .context_length = 4});
  EXPECT_ERROR(attention(ones({3, 1, 8}), {.each = std::vector<nn::AttentionPass>(2)}));
}

TEST(Gpt, ACacheWritesInPlaceUnlessItsMemoryIsShared) {
  const auto token = [](double value) {
    return nn::KeysAndValues{full({1, 2, 1, 4}, value), full({1, 2, 1, 4}, -value)};
  };
  nn::KVCache cache;
  const auto append = [&token](nn::KVCache& to, double value) {
    nn::KeysAndValues all = to.append(0, token(value));
    to.advance(1);
    return all;
  };
  const void* const memory = append(cache, 1).keys.raw_data();
  EXPECT_EQ(append(cache, 2).keys.raw_data(), memory);
  nn::KVCache copy = cache;
  const nn::KeysAndValues kept = append(copy, 3);  // the copy is written to, and leaves the memory to the first one
  EXPECT_NE(kept.keys.raw_data(), memory);
  EXPECT_EQ(append(cache, 4).keys.raw_data(), memory);
  copy.truncate(2);
  append(copy, 6);  // tensors that were returned before keep their values
  EXPECT_EQ(kept.keys.select(1, 0).select(-1, 0).to_vector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(kept.values.select(1, 1).select(-1, 3).to_vector<float>(), (std::vector<float>{-1, -2, -3}));
  nn::KVCache last = cache;
  cache = {};  // no other cache uses it now
  const void* const adopted = append(last, 7).keys.raw_data();
  EXPECT_EQ(adopted, memory);
}

}  // namespace
}  // namespace tapegrad::tests
