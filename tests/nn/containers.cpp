// Containers of modules: any signature, names, alternatives, and those of the standard library in a visit.
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/patterns.h>
#include <tapegrad/tests/support/testing.h>

#include <variant>

namespace tapegrad::tests {
namespace {

// --- lists in braces, and several models ---

struct WithLists {
  nn::List<nn::Linear> same{nn::Linear(2, 3), nn::Linear(3, 2)};
  nn::List<nn::AnyModule> any{nn::Linear(2, 4), nn::ReLU(), nn::Sequential{nn::Linear(4, 1)}};
};

TEST(Lists, TakeModulesInBraces) {
  WithLists model;
  EXPECT_TEXT(names_of(nn::parameters(model)));
  const WithLists copy = nn::clone(model);
  Tensor x = ones({1, 2}), y = x;
  for (const auto& layer : model.any) x = layer(x);
  for (const auto& layer : copy.any) y = layer(y);
  EXPECT_TRUE(equal(x, y));
  nn::List mixed{nn::Linear(1, 1), nn::ReLU()};
  nn::List alike{nn::Linear(1, 1), nn::Linear(1, 2)};
  static_assert(std::is_same_v<decltype(mixed), nn::List<nn::AnyModule>>);
  static_assert(std::is_same_v<decltype(alike), nn::List<nn::Linear>>);
  nn::List<nn::Linear> moved{std::move(alike)};  // not a list of a list
  EXPECT_EQ(moved.size(), 2U);
  EXPECT_EQ(nn::List<nn::ReLU>(3).size(), 3U);
}

TEST(Parameters, OfSeveralModelsHavePrefixes) {
  nn::Linear actor(2, 1), critic(2, 1, false);
  EXPECT_EQ(names_of(nn::parameters(actor, critic)), (Names{"0.weight", "0.bias", "1.weight"}));
  EXPECT_TEXT(names_of(nn::parameters("actor", actor, "critic", critic)));
  EXPECT_EQ(actor.weight.name(), "actor.weight");
  tie(actor.weight, critic.weight);
  EXPECT_EQ(names_of(nn::parameters(actor, critic)), (Names{"0.weight", "0.bias"}));
  EXPECT_ERROR(nn::parameters("a", actor, "a", critic));
  EXPECT_ERROR(nn::parameters("a.b", actor, "c", critic));
}

struct WithMask {
  nn::Linear linear{2, 2};
  nn::Buffer mask{tensor({0., 1.}), {.persistent = false}}, mean{zeros({2})};
  Tensor operator()(const Tensor& x) const { return linear(x) * mask + mean; }
};

TEST(Buffers, ThatAreNotPersistentAreClonedAndConvertedButNotSaved) {
  WithMask model;
  EXPECT_EQ(names_of(nn::state_dict(model)), (Names{"linear.weight", "linear.bias", "mean"}));
  EXPECT_EQ(nn::named_buffers(model).size(), 2U);
  WithMask copy = nn::clone(model);
  nn::to(copy, kFloat64);
  EXPECT_FALSE(copy.mask.persistent());
  EXPECT_TRUE(copy.mean.persistent());
  EXPECT_TRUE(equal(copy.mask, tensor({0., 1.}, kFloat64)));
  copy.mask.set(tensor({5., 6.}));
  nn::load_state_dict(copy, nn::state_dict(model));
  EXPECT_EQ(copy.mask.to_vector<double>(), (std::vector<double>{5, 6}));
  EXPECT_EQ(copy(ones({1, 2}, kFloat64)).dtype(), kFloat64);
  NamedTensors state = nn::state_dict(model);
  state.push_back({"mask", zeros({2})});
  EXPECT_ERROR(nn::load_state_dict(model, state));
  WithMask moved = std::move(copy);
  EXPECT_EQ(nn::state_dict(moved).size(), 3U);
}

// --- AnyOf a signature ---

struct BilinearForm {
  nn::Linear left{2, 3}, right{2, 3};
  nn::Dropout dropout{0.5};
  Tensor operator()(const Tensor& x, const Tensor& y) const { return dropout(left(x) * right(y)); }
};

struct MeanAndScale {
  Tensor mean, scale;
};
struct GaussianHead {
  nn::Linear mean{2, 1}, scale{2, 1};
  MeanAndScale operator()(const Tensor& x) const { return {mean(x), exp(scale(x))}; }
};

struct TwoSignatures {
  nn::AnyOf<Tensor(const Tensor&, const Tensor&)> form = BilinearForm();
  nn::AnyOf<MeanAndScale(const Tensor&)> head = GaussianHead();
  nn::AnyOf<void(std::vector<int64_t>&, int64_t)> count = [](std::vector<int64_t>& seen, int64_t n) {
    seen.push_back(n);
  };
};

TEST(AnyOfASignature, TakesAndReturnsItsTypes) {
  manual_seed(1);
  TwoSignatures model;
  nn::eval(model);
  const Tensor x = randn({4, 2}), y = randn({4, 2});
  const auto* const form = model.form.as<BilinearForm>();
  ASSERT_NE(form, nullptr);
  EXPECT_FALSE(form->dropout.training);
  EXPECT_TRUE(equal(model.form(x, y), form->left(x) * form->right(y)));
  EXPECT_TRUE(equal(model.head(x).scale, exp(model.head.as<GaussianHead>()->scale(x))));
  std::vector<int64_t> seen;
  model.count(seen, 7);
  EXPECT_EQ(seen, std::vector<int64_t>{7});
  EXPECT_TEXT(names_of(model));
}

TEST(AnyOfASignature, MayBeEmpty) {
  const nn::AnyOf<MeanAndScale(const Tensor&)> none;
  EXPECT_FALSE(none.defined());
  EXPECT_EQ(error_of([&] {
              none(ones({1, 2}));
            }),
            "[any_module] expected a module, got an empty handle (assign a module first)");
  static_assert(std::is_same_v<nn::AnyModule, nn::AnyOf<Tensor(const Tensor&)>>);
}

// --- Dict ---

struct TwoHeads {
  nn::Linear body{3, 4};
  nn::Dict<nn::Linear> heads{{"policy", nn::Linear(4, 2)}, {"value", nn::Linear(4, 1)}};
  Tensor operator()(const Tensor& x) const {
    const Tensor h = tanh(body(x));
    return cat({heads["policy"](h), heads["value"](h)}, -1);
  }
};

TEST(Dict, HasTheNamesOfAModuleDictInTheOrderOfInsertion) {
  TwoHeads model;
  EXPECT_TEXT(names_of(model));
  model.heads.emplace("extra", 4, 3, false);
  model.heads.emplace("after", 4, 5);
  EXPECT_EQ(model.heads.names(), (Names{"policy", "value", "extra", "after"}));
  EXPECT_EQ(model.heads.size(), 4u);
  EXPECT_EQ(model.heads.at("extra").weight->shape(), (Shape{3, 4}));
  const nn::Linear taken = model.heads.take("value");
  EXPECT_EQ(taken.weight->shape(), (Shape{1, 4}));
  Names names;
  for (const auto& [name, head] : std::as_const(model.heads)) {
    names.push_back(name);
    EXPECT_EQ(head(ones({1, 4})).dim(), 2);
  }
  EXPECT_EQ(names, (Names{"policy", "extra", "after"}));
  EXPECT_FALSE(model.heads.contains("value"));
  EXPECT_EQ(model.heads.find("value"), nullptr);
}

TEST(Dict, DrawsWeightsInOrderAndIsAModule) {
  manual_seed(3);
  TwoHeads model;
  manual_seed(3);
  const nn::Linear body(3, 4), policy(4, 2), value(4, 1);
  EXPECT_TRUE(equal(model.heads["value"].weight, value.weight));
  TwoHeads copy = nn::clone(model);
  copy.heads["policy"].weight.set(zeros({2, 4}));
  EXPECT_TRUE(equal(model.heads["policy"].weight, policy.weight));
  nn::load_state_dict(copy, nn::state_dict(model));
  const Tensor x = randn({2, 3});
  EXPECT_TRUE(equal(copy(x), model(x)));
  EXPECT_TRUE(nn::gradients_match(model, {x}, {.gradcheck = {.order = 1}}));
  nn::Dict<nn::AnyModule> layers;
  layers.emplace("norm", nn::LayerNorm(2));
  layers.emplace("relu", [](const Tensor& in) { return relu(in); });
  EXPECT_EQ(names_of(layers), (Names{"norm.weight", "norm.bias"}));
  EXPECT_EQ(layers["relu"](tensor({-1., 2.})).to_vector<float>(), (Values{0, 2}));
}

TEST(Dict, ErrorsListItsNames) {
  TwoHeads model;
  const nn::Dict<nn::Linear> none;
  const auto at = [&](const auto& dict, const char* name) { return error_of([&] { dict.at(name); }); };
  EXPECT_TEXT(at(model.heads, "valu"));
  EXPECT_EQ(at(none, "a"), "[dict] expected the name of a module, got \"a\" (it has no module)");
  EXPECT_ERROR(model.heads["q"]);
  const auto add = [&](const char* name) { return error_of([&] { model.heads.emplace(name, 4, 1); }); };
  EXPECT_EQ(add("value"), "[dict] expected a new name, got \"value\" (it has \"policy\", \"value\")");
  EXPECT_EQ(add("a.b"), "[dict] expected the name of a module, without dots, got \"a.b\"");
  EXPECT_EQ(add(""), "[dict] expected the name of a module, without dots, got \"\"");
  EXPECT_EQ(model.heads.size(), 2u);
}

// --- variants ---

// With a constructor it is no plain struct.
struct NormedEither {
  explicit NormedEither(bool centred) {
    if (centred) norm.emplace<nn::LayerNorm>(2);
  }
  Tensor operator()(const Tensor& x) const { return norm(x); }
  void visit(auto&& field) { field("norm", norm); }
  nn::Variant<nn::RMSNorm, nn::LayerNorm> norm = nn::RMSNorm(2);
};

TEST(Variant, IsTheModuleThatItHolds) {
  NormedEither model(false);
  EXPECT_EQ(names_of(model), Names{"norm.weight"});
  const Tensor x = tensor({{1., 2.}, {5., -1.}});
  EXPECT_TRUE(equal(model(x), std::get<nn::RMSNorm>(model.norm)(x)));
  model.norm = nn::LayerNorm(2);
  EXPECT_EQ(names_of(model), (Names{"norm.weight", "norm.bias"}));
  NormedEither copy = nn::clone(model);
  EXPECT_TRUE(equal(copy(x), model(x)));
  std::get<nn::LayerNorm>(copy.norm).bias.set(ones({2}));
  EXPECT_FALSE(equal(copy(x), model(x)));
  EXPECT_TRUE(Pattern("  norm +LayerNorm +-> \\[2, 2\\]").found(nn::summary(model, {x})));
}

// --- containers of the standard library ---

struct Standard {
  std::variant<std::monostate, nn::Linear, nn::LayerNorm> choice;
  std::map<std::string, nn::Linear> named;
  std::map<int, nn::Linear> numbered;
  std::unique_ptr<nn::Linear> owned = std::make_unique<nn::Linear>(1, 1);
  void visit(auto&& field) {
    field("choice", choice);
    field("named", named);
    field("numbered", numbered);
    field("owned", owned);
  }
};

TEST(StandardContainers, AreVisited) {
  Standard model;
  EXPECT_EQ(names_of(model), (Names{"owned.weight", "owned.bias"}));
  model.choice.emplace<nn::Linear>(2, 2, false);
  model.named.emplace("b", nn::Linear(1, 1, false));
  model.named.emplace("a", nn::Linear(1, 1, false));
  model.numbered.emplace(12, nn::Linear(1, 1, false));
  EXPECT_TEXT(names_of(model));
  model.choice.emplace<nn::LayerNorm>(2);
  nn::to(model, kFloat64);
  EXPECT_EQ(std::get<nn::LayerNorm>(model.choice).weight->dtype(), kFloat64);
  model.named.emplace("a.b", nn::Linear(1, 1));
  EXPECT_ERROR(nn::parameters(model));
}

}  // namespace
}  // namespace tapegrad::tests
