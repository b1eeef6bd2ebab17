// Models that choose a form of attention for long inputs: against full attention with a mask, and from a cache.
#include <tapegrad/tests/nn/models/small_models.h>
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/testing.h>

#include <variant>

namespace tapegrad::tests {
namespace {

using nn::AttentionChoice;
using nn::LinformerAttention;
using nn::PerformerAttention;
using nn::Positions;
using nn::ReformerAttention;
using nn::WindowAttention;

constexpr WindowAttention kWindow{.window = 2, .dilation = 2, .global_tokens = 1};

nn::GPTModel some_gpt(const AttentionChoice& choice, Positions positions = Positions::learned, int64_t kv_heads = 0) {
  manual_seed(3);
  nn::GPTConfig config{.vocab_size = 11, .context_length = 20, .emb_dim = 16, .n_heads = 4, .n_layers = 2};
  config.positions = positions;
  config.n_kv_heads = kv_heads;
  config.attention = choice;
  return evaluated(nn::GPTModel(config));
}

nn::Transformer some_transformer(const AttentionChoice& choice) {
  manual_seed(5);
  nn::TransformerConfig config = small_transformer(11, 14);
  config.attention = choice;
  return evaluated(nn::Transformer(config));
}

TEST(AttentionChoice, AWindowOverEverythingIsFullAttention) {
  const AttentionChoice wide = WindowAttention{.window = 20};
  const Tensor ids = tensor({{1, 5, 2, 0, 6, 3, 7, 8}, {4, 4, 1, 2, 3, 10, 9, 0}});
  for (const Positions positions : {Positions::learned, Positions::sinusoidal, Positions::rope, Positions::none}) {
    EXPECT_TRUE(equal(some_gpt(wide, positions)(ids), some_gpt({}, positions)(ids)));
  }
  const Tensor src = tensor({{1, 5, 2, 8, 6, 3, 0, 0}}), tgt = tensor({{0, 4, 1, 2, 3}});
  const Tensor mask = nn::padding_mask(src), causal = nn::causal_mask(5);
  EXPECT_TRUE(equal(some_transformer(wide)(src, tgt, mask, causal), some_transformer({})(src, tgt, mask, causal)));
}

TEST(AttentionChoice, AttendsWithinTheWindow) {
  manual_seed(7);
  for (const bool causal : {false, true}) {
    for (const int64_t kv_heads : {0, 2}) {
      nn::SelfAttentionConfig config{
          .d_in = 6, .d_out = 8, .num_heads = 4, .causal = causal, .num_kv_heads = kv_heads, .attention = kWindow};
      manual_seed(8);
      const nn::MultiHeadSelfAttention window(config);
      config.attention = {};
      manual_seed(8);
      const nn::MultiHeadSelfAttention full(config);
      const Tensor x = randn({2, 13, 6}), seen = nn::window_mask(13, 13, kWindow, causal);
      const Tensor some_keys = (randn({2, 1, 1, 13}) > -0.5);
      Tensor ours, theirs;
      expect_near(window(x, {.weights = &ours}), full(x, {.mask = seen, .weights = &theirs}));
      expect_near(ours, theirs);
      expect_near(window(x, some_keys), full(x, seen && some_keys));
      const Tensor per_head = randn({2, 4, 13, 13}) > -0.5;
      expect_near(window(x, per_head), full(x, seen && per_head));
    }
  }
}

TEST(AttentionChoice, LaterTokensChangeNothing) {
  const nn::GPTModel gpt = some_gpt(kWindow);
  const Tensor a = tensor({{1, 5, 2, 0, 6, 3, 7, 8}}), b = tensor({{1, 5, 2, 0, 6, 9, 9, 9}});
  EXPECT_TRUE(equal(narrow(gpt(a), 1, 0, 5), narrow(gpt(b), 1, 0, 5)));
  const nn::Transformer model = some_transformer(kWindow);
  const Tensor src = tensor({{1, 5, 2, 8}});
  // The decoder is causal without a mask.
  EXPECT_TRUE(equal(model(src, a), model(src, a, {}, nn::causal_mask(8))));
  EXPECT_TRUE(equal(narrow(model(src, a), 1, 0, 5), narrow(model(src, b), 1, 0, 5)));
}

// --- forms that are modules ---

TEST(AttentionChoice, HasTheNamesOfTheModules) {
  const nn::GPTModel performer = some_gpt(PerformerAttention());
  EXPECT_EQ(nn::named_parameters(performer)[2].name, "trf_blocks.0.att.performer.W_query.weight");
  const nn::GPTModel reformer = some_gpt(ReformerAttention()), window = some_gpt(kWindow);
  EXPECT_EQ(nn::named_parameters(reformer)[2].name, "trf_blocks.0.att.reformer.W_query_key.weight");
  for (const nn::GPTModel* model : {&performer, &reformer, &window}) {
    EXPECT_EQ(nn::count_parameters(*model), model->config.parameter_count());
  }
  const nn::Transformer linformer = some_transformer(LinformerAttention{.rank = 3});
  const nn::NamedParameter projection = nn::named_parameters(linformer.encoder.layers[0].attention).at(8);
  EXPECT_EQ(projection.name, "linformer.E");
  EXPECT_EQ(projection.parameter->shape(), (Shape{3, 14}));
  EXPECT_EQ(nn::named_parameters(linformer.decoder.layers[0].self_attn)[0].name, "linear_layers.0.weight");
}

TEST(AttentionChoice, LinformerBoundsTheInput) {
  nn::TransformerConfig config{.max_position_embeddings = 14, .positions = Positions::rope};
  EXPECT_EQ(config.longest_input(), kMax);
  config.attention = LinformerAttention();
  EXPECT_EQ(config.longest_input(), 14);
  config.attention = LinformerAttention{.length = 20};
  EXPECT_EQ(config.longest_input(), 20);
  config.positions = Positions::learned;
  EXPECT_EQ(config.longest_input(), 14);
}

TEST(AttentionChoice, EveryFormTrainsInBothModels) {
  const Tensor ids = tensor({{1, 5, 2, 0, 6, 3, 7, 8, 1, 2, 3, 4}});
  const AttentionChoice forms[] = {WindowAttention{.window = 2}, LinformerAttention{.rank = 4, .per_head = true},
                                   PerformerAttention{.features = 5}, ReformerAttention{.bucket_size = 4}};
  for (const AttentionChoice& form : forms) {
    SCOPED_TRACE(form.name());
    const auto expect_gradients = [&](auto model, const auto& logits_of) {
      nn::train(model);
      const auto loss = [&] { return cross_entropy(logits_of(model), ids); };
      for (const Tensor& x : loss_and_gradients(model, loss)) EXPECT_TRUE(all_finite(x));
    };
    if (form.traits().not_causal.empty()) {
      nn::GPTModel gpt = some_gpt(form, Positions::rope);
      gpt.recompute_blocks = true;
      expect_gradients(std::move(gpt), [&](auto& model) { return model(ids); });
    }
    expect_gradients(some_transformer(form),
                     [&](auto& model) { return model(ids, ids, nn::padding_mask(ids), nn::causal_mask(12)); });
  }
}

// A GPT in parts, where the form can be causal; generation by a GPT and by a Transformer.
TEST(AttentionChoice, ACacheGivesTheSame) {
  const AttentionChoice forms[] = {kWindow, PerformerAttention{.features = 8}, ReformerAttention{.bucket_size = 2},
                                   LinformerAttention{.rank = 4}};  // of the Transformer's encoder
  const Tensor ids = tensor({{1, 5, 2, 0, 6, 3, 7, 8, 9, 10, 4}}), src = tensor({{1, 5, 2, 8, 3}, {2, 2, 7, 0, 0}});
  for (const AttentionChoice& form : forms) {
    SCOPED_TRACE(form.name());
    const auto expect_same_tokens = [](auto cached, auto anew, const Tensor& start, int64_t beams) {
      const nn::GenerateOptions options{.max_new_tokens = 8, .beams = beams};
      EXPECT_TRUE(equal(nn::generate(cached, start, options).tokens, nn::generate(anew, start, options).tokens));
    };
    const bool window = form.name() == "window";
    const nn::Transformer model = some_transformer(form);
    for (const int64_t beams : {1, 3}) {
      if (beams > 1 && !window) continue;
      expect_same_tokens(nn::TransformerNext(model, src, nn::padding_mask(src)),
                         nn::TransformerNext(model, src, nn::padding_mask(src), false), zeros({2, 1}, kInt64), beams);
    }
    if (!form.traits().not_causal.empty()) continue;
    for (const int64_t kv_heads : {0, 2}) {
      if (kv_heads != 0 && !window) continue;
      nn::GPTModel gpt = some_gpt(form, Positions::rope, kv_heads);
      const Tensor whole = gpt(ids);
      nn::KVCache cache;
      for (const auto& [start, length] : {std::pair{0, 4}, {4, 3}, {7, 1}, {8, 1}, {9, 2}}) {
        expect_near(gpt(narrow(ids, 1, start, length), &cache), narrow(whole, 1, start, length));
      }
      if (window) expect_same_tokens(nn::GPTNext(gpt), nn::GPTNext(gpt, false), narrow(ids, 1, 0, 3), 3);
      gpt.redraw_features();
      EXPECT_EQ(equal(gpt(ids), whole), form.name() != "performer");
    }
  }
}

// --- the table of forms ---

TEST(AttentionChoice, IsAValueWithTheOptionsOfOneForm) {
  const AttentionChoice first = kWindow;
  AttentionChoice second = first;
  const nn::Fields fields = nn::fields_of(second);
  *std::get<int64_t*>(fields.find("window")->value) = 7;
  EXPECT_EQ(second.as<WindowAttention>()->window, 7);
  EXPECT_EQ(first.as<WindowAttention>()->window, 2);
  EXPECT_EQ(first.as<PerformerAttention>(), nullptr);
  second = PerformerAttention{.features = 4};
  EXPECT_EQ(second.name(), "performer");
  EXPECT_EQ(AttentionChoice().name(), "full");
}

TEST(AttentionChoice, EveryFormHasANameAndOptionsOfItsOwn) {
  std::vector<std::string> names;
  for (const std::string_view name : nn::attention_names()) {
    AttentionChoice form = nn::attention_named(name);
    EXPECT_EQ(form.name(), name);
    EXPECT_EQ(error_of([&] { form.check(Positions::none, false); }), "no error");
    names.emplace_back(name);
    for (const nn::Field& field : nn::fields_of(form)) names.push_back(field.setting.key());
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  ASSERT_NE(twice, names.end());
  EXPECT_EQ(*twice, "window");  // a form and its option
  EXPECT_EQ(std::adjacent_find(twice + 1, names.end()), names.end());
  EXPECT_EQ(nn::attention_names().front(), AttentionChoice().name());
}

TEST(AttentionChoice, ACloneHasItsOwnParameters) {
  for (const AttentionChoice& form : nn::attention_forms()) {
    SCOPED_TRACE(form.name());
    const bool causal = form.traits().not_causal.empty();
    nn::MultiHeadSelfAttention attention(
        {.d_in = 4, .d_out = 4, .num_heads = 2, .context_length = 6, .causal = causal, .attention = form});
    nn::eval(attention);
    const Tensor x = randn({1, 6, 4}), before = attention(x);
    nn::MultiHeadSelfAttention copy = nn::clone(attention);
    EXPECT_TRUE(equal(copy(x), before));
    for (const nn::NamedParameter& p : nn::named_parameters(copy)) p.parameter.set(p.parameter.tensor().detach() * 0);
    EXPECT_TRUE(equal(attention(x), before));
    attention.redraw();
    EXPECT_EQ(equal(attention(x), before), form.name() != "performer");
  }
}

TEST(AttentionChoice, SaysWhatIsWrong) {
  const auto of = [](const AttentionChoice& choice, Positions positions = Positions::none, bool causal = true) {
    return error_of([&] { choice.check(positions, causal); });
  };
  EXPECT_EQ(of(LinformerAttention{.rank = 0}), "[attention_choice] expected linformer_rank > 0, got 0");
  EXPECT_TEXT(of(LinformerAttention{.length = -1}));
  EXPECT_EQ(of(PerformerAttention{.features = -1}), "[attention_choice] expected performer_features >= 0, got -1");
  EXPECT_EQ(of(ReformerAttention{.bucket_size = 0}), "[attention_choice] expected reformer_bucket_size > 0, got 0");
  EXPECT_TEXT(of(ReformerAttention{.buckets = 3}));
  EXPECT_EQ(of(ReformerAttention{.rounds = 0}), "[attention_choice] expected reformer_rounds in [1, 64], got 0");
  EXPECT_TEXT(of(LinformerAttention()));
  EXPECT_EQ(of(LinformerAttention(), Positions::none, false), "no error");
  EXPECT_ERROR(some_gpt(PerformerAttention(), Positions::none, 2));
  const nn::MultiHeadAttention performer(8, 2, 0, Positions::none, {}, 0, PerformerAttention());
  EXPECT_ERROR(performer(zeros({1, 3, 8}), zeros({1, 3, 8}), zeros({1, 3, 8}), nn::AttentionPass()));
  const Tensor x = zeros({1, 3, 8}).as_leaf();  // as before, though they share their memory
  EXPECT_ERROR(performer(x, narrow(x, 1, 0, 2), narrow(x, 1, 0, 2), nn::AttentionPass()));
  EXPECT_ERROR(performer(x, x.detach(), x, nn::AttentionPass()));
  EXPECT_EQ(of(WindowAttention{.window = -1}), "[attention_choice] expected window >= 0, got -1");
  EXPECT_EQ(of(WindowAttention{.dilation = 0}), "[attention_choice] expected dilation > 0, got 0");
  EXPECT_EQ(of(WindowAttention{.global_tokens = -2}), "[attention_choice] expected global_tokens >= 0, got -2");
  EXPECT_TEXT(of(kWindow, Positions::t5));
  EXPECT_EQ(of(kWindow, Positions::rope), "no error");
  EXPECT_EQ(error_of([] { some_gpt(kWindow, Positions::alibi); }), of(kWindow, Positions::alibi));
  EXPECT_EQ(error_of([] { nn::attention_named("wide"); }).substr(0, 41), "[attention_choice] expected one of full, ");
  EXPECT_EQ(nn::attention_named("window").name(), "window");
  EXPECT_ERROR(nn::to_hugging_face_config(some_gpt(kWindow).config, {}));
  const nn::MultiHeadSelfAttention attention({.d_in = 4, .d_out = 4, .num_heads = 2, .attention = kWindow});
  EXPECT_ERROR(attention(zeros({1, 3, 4}), zeros({3, 3})));
}

// AttentionMaps::seen, with and without weights that underflow to 0.
TEST(AttentionChoices, AWeightOfZeroIsNotAMask) {
  const Tensor ids = tensor({{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}});
  for (const AttentionChoice& choice :
       {AttentionChoice(), AttentionChoice(kWindow), AttentionChoice(PerformerAttention()),
        AttentionChoice(ReformerAttention{.bucket_size = 4})}) {
    SCOPED_TRACE(choice.name());
    nn::GPTModel model = some_gpt(choice);
    nn::AttentionMaps plain, sharp;
    model(ids, nullptr, &plain);
    NamedTensors state = nn::state_dict(model);
    for (NamedTensor& t : state)
      if (t.name.find("W_query") != std::string::npos) t.tensor = t.tensor.detach() * 1e4;
    nn::load_state_dict(model, state);
    model(ids, nullptr, &sharp);
    const Tensor weights = sharp[0].tensor, seen = sharp.seen[0].expand(weights.shape());
    EXPECT_TRUE(equal(seen, plain[0].tensor > 0.0));
    EXPECT_TRUE(choice.name() == "performer" || any(seen && eq(weights, 0.0)));
  }
}

TEST(AttentionChoices, MasksOfCallsAreInMaps) {
  const Tensor source = tensor({{3, 1, 4, 0}}), target = tensor({{2, 7, 1}});
  const nn::Transformer model = some_transformer({});
  const Tensor padding = nn::padding_mask(source), causal = nn::causal_mask(3);
  const auto maps_of = [&](const Tensor& of_source, const Tensor& of_target) {
    nn::AttentionMaps maps;
    model(source, target, of_source, of_target, &maps);
    return maps;
  };
  const nn::AttentionMaps maps = maps_of(padding, causal);
  const auto added = [](const Tensor& mask, double value) {
    return masked_fill(zeros(mask.shape()), logical_not(mask), value);
  };
  for (const nn::AttentionMaps& same : {maps, maps_of(added(padding, -1e9), added(causal, -kInf))})
    for (std::size_t i = 0; i < same.size(); ++i)
      EXPECT_TRUE(equal(same.seen[i].expand(same[i].tensor.shape()), maps[i].tensor > 0.0)) << same[i].name;
  for (const Tensor& seen : maps_of({}, {}).seen) EXPECT_FALSE(seen.defined());
}

}  // namespace
}  // namespace tapegrad::tests
