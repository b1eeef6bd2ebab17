// Positions that are added to embeddings: values and gradients against PyTorch, causality, caches, padding, unlimited
// length.
#include <tapegrad/tests/nn/models/small_models.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using nlohmann::json;
using nn::Positions;
using tests::error_of;
using tests::filled;

constexpr std::string_view kLearnedKinds[] = {"conv",    "conv-multiscale", "lstm",   "ode",
                                              "complex", "composite",       "dynamic"};

nn::PositionOptions small_options(std::string_view solver = "rk4") {
  return {nn::ShawOptions{.distance = 2, .values = true}, nn::T5Options{.buckets = 8, .distance = 12},
          nn::OdePositionOptions{.solver = {.solver = nn::ode_solver_named(solver)}},
          nn::CompositePositionOptions{.added = "lstm", .relative = "shaw"}};
}

nn::GPTModel gpt(Positions kind, const nn::PositionOptions& options = small_options()) {
  manual_seed(7);
  return tests::exact(nn::GPTModel(tests::small_decoder(11, 6, kind, options)));
}

nn::Transformer transformer(Positions kind, const nn::PositionOptions& options = small_options()) {
  manual_seed(8);
  return tests::exact(nn::Transformer(tests::small_transformer(11, 9, kind, options)));
}

TEST(AddedPositions, InputsOfOneTokenGiveAGradientToEveryParameter) {
  const Tensor token = tensor({{int64_t{3}}});
  for (std::size_t kind = 0; kind < std::size(nn::position_names()); ++kind) {
    SCOPED_TRACE(nn::position_names()[kind]);
    nn::GPTModel model = gpt(nn::positions_named(nn::position_names()[kind]));
    Tape tape;
    const Gradients grads = tape.backward(sum(model(token)));
    for (const nn::NamedParameter& p : nn::named_parameters(model)) {
      EXPECT_TRUE(grads.contains(p.parameter)) << p.name;
    }
  }
}

TEST(AddedPositions, AndTheirGradientsEqualPyTorchs) {
  static const json golden = tests::stored("positions.json")["added"];
  for (const json& expected : golden) {
    const std::string kind = expected["kind"];
    const bool causal = expected["causal"], composite = expected["composite"];
    SCOPED_TRACE(kind + (causal ? ", causal" : "") + (composite ? ", composite" : ""));
    const nn::PositionOptions options(nn::ConvPositionOptions{.width = 5}, nn::LstmPositionOptions{.size = 3},
                                      nn::OdePositionOptions{.size = 5, .solver = {.steps = 2}},
                                      nn::DynamicPositionOptions{.size = 5},
                                      nn::CompositePositionOptions{.added = composite ? kind : "index"});
    nn::AddedPositions model(composite ? Positions::composite : nn::positions_named(kind), 4, 8, options, causal);
    nn::to(model, kFloat64);
    const auto parameters = nn::named_parameters(model);
    ASSERT_EQ(parameters.size(), expected["grads"].size());
    int64_t k = 20;
    for (const auto& [name, parameter] : parameters) parameter.set(filled(parameter->shape(), k++));
    const Tensor x = filled({2, 6, 8}, 7).to(kFloat64).as_leaf();
    Tape tape;
    const Tensor y = model(x);
    const tests::Room room{.relative = 0, .absolute = kind == "dynamic" ? 1e-6 : 1e-10};  // its table is of float32
    tests::expect_close(y, expected["y"], room, "y");
    const Gradients grads = tape.backward(sum(y * filled({2, 6, 8}, 5).to(kFloat64)) + sum(y * y));
    tests::expect_close(grads[x], expected["dx"], room, "dx");
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      tests::expect_close(grads[parameters[i].parameter], expected["grads"][i], room, parameters[i].name);
    }
  }
}

TEST(AddedPositions, NeverSeeLaterTokensOfACausalModel) {
  for (const std::string_view kind : nn::position_names()) {
    SCOPED_TRACE(kind);
    const nn::GPTModel model = gpt(nn::positions_named(kind));
    manual_seed(1);
    const Tensor ids = randint(0, 11, {2, 6}), other = cat({ids.slice(1, 0, 4), 10 - ids.slice(1, 4, 6)}, 1);
    const auto first = [&](const Tensor& tokens) { return model(tokens).slice(1, 0, 4).contiguous(); };
    EXPECT_EQ(first(ids).to_vector<double>(), first(other).to_vector<double>());
    EXPECT_GT(tests::largest_difference(model(ids), model(other)), 1e-6);
  }
}

TEST(AddedPositions, ContinueFromACache) {
  for (const std::string_view kind : nn::position_names()) {
    for (const std::string_view solver : nn::kOdeSolverNames) {
      if (kind != "ode" && solver != "rk4") continue;
      SCOPED_TRACE(kind);
      const nn::GPTModel model = gpt(nn::positions_named(kind), small_options(solver));
      const int64_t length = kind == "learned" ? 6 : 80;
      manual_seed(1);
      const Tensor ids = randint(0, 11, {2, length}), all = model(ids);
      nn::KVCache cache;
      std::vector<Tensor> parts;
      int64_t read = 0;
      for (const int64_t next : {int64_t{1}, int64_t{3}, int64_t{1}, length - 5}) {
        parts.push_back(model(narrow(ids, 1, read, next), &cache));
        read += next;
      }
      EXPECT_LT(tests::largest_difference(cat(parts, 1), all), 1e-11);

      cache.truncate(3);
      nn::KVCache branch = cache;
      branch.reorder(tensor({1, 0, 1}));
      const Tensor swapped = index_select(ids, 0, tensor({1, 0, 1}));
      EXPECT_LT(tests::largest_difference(model(narrow(swapped, 1, 3, 3), &branch), narrow(model(swapped), 1, 3, 3)),
                1e-11);
      EXPECT_LT(tests::largest_difference(model(narrow(ids, 1, 3, 3), &cache), narrow(all, 1, 3, 3)), 1e-11);
    }
  }
}

TEST(AddedPositions, ATransformerDecodesWithACacheAsWithout) {
  for (const std::string_view kind : nn::position_names()) {
    SCOPED_TRACE(kind);
    const nn::Transformer model = transformer(nn::positions_named(kind));
    manual_seed(1);
    const Tensor source = randint(1, 11, {2, 7}), ids = randint(1, 11, {2, 8});
    nn::TransformerNext cached(model, source, nn::padding_mask(source));
    nn::TransformerNext plain(model, source, nn::padding_mask(source), false);
    for (const int64_t length : {1, 2, 5, 8}) {
      const Tensor read = narrow(ids, 1, 0, length);
      EXPECT_LT(tests::largest_difference(cached.logits(read), plain.logits(read)), 1e-11) << length;
    }
  }
}

TEST(AddedPositions, DoNotSeePadding) {
  for (const std::string_view kind : nn::position_names()) {
    SCOPED_TRACE(kind);
    const nn::Transformer model = transformer(nn::positions_named(kind));
    const Tensor alone = tensor({{3, 1, 4, 1, 5}}), padded = tensor({{3, 1, 4, 1, 5, 0, 0, 0}});
    const Tensor y = model.encode(alone, nn::padding_mask(alone));
    EXPECT_LT(tests::largest_difference(narrow(model.encode(padded, nn::padding_mask(padded)), 1, 0, 5), y), 1e-12);
    EXPECT_TRUE(all_finite(model.encode(zeros({1, 4}, kInt64), nn::padding_mask(zeros({1, 4}, kInt64)))));
  }
}

// A causal module, too, which models only use without padding: its positions are those of the tokens alone.
TEST(AddedPositions, DynamicOnesAverageTokensOnly) {
  manual_seed(10);
  const nn::DynamicPositions model(8, 5, true);
  const Tensor x = randn({2, 6, 8}), mask = tensor({{1, 1, 1, 0, 0, 0}, {0, 0, 1, 1, 1, 1}}).reshape({2, 6, 1}) != 0.0;
  const Tensor p = model(x, 0, mask);
  EXPECT_LT(tests::largest_difference(p[0].slice(0, 0, 3), model(x.slice(1, 0, 3))[0]), 1e-6);
  EXPECT_LT(tests::largest_difference(p[1].slice(0, 2, 6), model(x.slice(1, 2, 6), 2, ones({2, 4, 1}, kBool))[1]),
            1e-6);
}

TEST(AddedPositions, HaveNoEnd) {
  for (const std::string_view kind : kLearnedKinds) {
    SCOPED_TRACE(kind);
    EXPECT_EQ(gpt(nn::positions_named(kind)).config.longest_input(), std::numeric_limits<int64_t>::max());
    manual_seed(4);
    const nn::AddedPositions model(nn::positions_named(kind), 4, 8, small_options());
    const Tensor x = randn({1, 300, 8});
    EXPECT_TRUE(all_finite(model(x)));
    EXPECT_EQ(model(x.slice(1, 0, 0)).shape(), (Shape{1, 0, 8}));
    EXPECT_EQ(model(x.slice(0, 0, 0)).shape(), (Shape{0, 300, 8}));
    EXPECT_EQ(model(x.slice(1, 0, 1)).shape(), (Shape{1, 1, 8}));
  }
  nn::PositionOptions learned = small_options();  // a composite of a learned table is limited
  learned.of<nn::CompositePositionOptions>().added = "learned";
  EXPECT_EQ(gpt(Positions::composite, learned).config.longest_input(), 6);
  EXPECT_ERROR(gpt(Positions::composite, learned)(ones({1, 7}, kInt64)));
  learned.of<nn::LearnedPositionOptions>().interpolate_to = 20;
  EXPECT_EQ(gpt(Positions::composite, learned)(ones({1, 20}, kInt64)).shape(), (Shape{1, 20, 11}));
}

TEST(AddedPositions, GiveTheSameBitsForAnyNumberOfThreads) {
  for (const std::string_view kind : kLearnedKinds) {
    SCOPED_TRACE(kind);
    tests::expect_same_with_any_threads([&] {
      manual_seed(5);
      nn::AddedPositions model(nn::positions_named(kind), 4, 96, small_options(), true);
      const Tensor x = randn({8, 60, 96}).as_leaf();
      Tape tape;
      const Tensor y = model(x);
      const Gradients grads = tape.backward(sum(y * y * y));
      std::vector<Tensor> found{y.detach(), grads[x]};
      for (const auto& [name, p] : nn::named_parameters(model)) found.push_back(grads[p]);
      return found;
    });
  }
}

TEST(AddedPositions, ComplexOnesTurnWhenTheyShift) {  // z(i + j) = z(i) e^(i omega j)
  manual_seed(6);
  nn::ComplexPositions model(8);
  nn::to(model, kFloat64);
  for (const auto& [name, p] : nn::named_parameters(model)) p.set(randn(p->shape(), kFloat64));
  const Tensor z = model(30), shifted = model(30, 7), angle = model.frequency.tensor() * 7;
  EXPECT_LT(tests::largest_difference(nn::rotate_pairs(z, cos(angle), sin(angle)), shifted), 1e-12);
  const nn::ComplexPositions first(8);  // begin as the sinusoidal ones, cosines first
  EXPECT_LT(tests::largest_difference(first(50).slice(1, 0, kAll, 2), nn::sinusoidal_table(50, 8).slice(1, 1, kAll, 2)),
            1e-5);
}

// alpha = 0 leaves the relative kind, beta = 0 the added one, for every pair.
TEST(AddedPositions, CompositeOnesAreAnyPair) {
  const Tensor ids = tensor({{1, 7, 3, 2, 9, 4}, {5, 5, 0, 8, 1, 6}});
  const auto set = [](nn::GPTModel& model, std::string_view name, double value) {
    for (const auto& p : nn::named_parameters(model)) {
      if (p.name == name) p.parameter.set(full({}, value));
    }
  };
  for (const std::string_view added : nn::added_position_names()) {
    for (const std::string_view relative : nn::relative_position_names()) {
      SCOPED_TRACE(std::string(added) + " and " + std::string(relative));
      nn::PositionOptions options = small_options();
      options.of<nn::CompositePositionOptions>() = {.added = std::string(added), .relative = std::string(relative)};
      nn::GPTModel pair = gpt(Positions::composite, options);
      EXPECT_EQ(pair.config.parameter_count(), nn::count_parameters(pair));
      const auto part = [&](std::string_view kind) {
        nn::GPTModel one = gpt(nn::positions_named(kind), options);
        nn::load_state_dict(one, nn::state_dict(pair), false);
        return one(ids);
      };
      const Tensor both = pair(ids);
      EXPECT_GT(tests::largest_difference(both, part(added)), 1e-6);
      if (added != "index") {  // which the norms remove
        EXPECT_GT(tests::largest_difference(both, part(relative)), 1e-6);
      }
      set(pair, "relative_positions.beta", 0);
      EXPECT_LT(tests::largest_difference(pair(ids), part(added)), 1e-12);
      set(pair, "relative_positions.beta", 1);
      set(pair, "pos_emb.alpha", 0);
      EXPECT_LT(tests::largest_difference(pair(ids), part(relative)), 1e-12);
    }
  }
}

TEST(AddedPositions, Errors) {
  EXPECT_TEXT(error_of([] { nn::ComplexPositions model(5); }));
  EXPECT_TEXT(error_of([] { nn::ConvPositions model(4, 2, true); }));
  EXPECT_TEXT(error_of([] { nn::MultiscaleConvPositions model(1, true); }));
  EXPECT_EQ(error_of([] { nn::LstmPositions model(0, 1); }), "[positions] expected the size of a vector > 0, got 0");
  nn::KVCache cache;
  EXPECT_ERROR(nn::ConvPositions(4, 3, false)(ones({1, 2, 4}), {}, &cache));
  EXPECT_ERROR(nn::DynamicPositions(4, 3, false)(ones({1, 2, 4}), 0, {}, &cache));
}

}  // namespace
}  // namespace tapegrad
