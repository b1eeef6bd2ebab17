// Composition of modules and functions of modules: Sequential, ties, freezing.
#include <tapegrad/tests/nn/tied_language.h>
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// --- Sequential ---

struct Trunk {
  nn::Sequential<nn::Linear, nn::Dropout, nn::Linear> net{nn::Linear(3, 4), nn::Dropout(0.5), nn::Linear(4, 2)};
  nn::List<nn::AnyModule> layers{nn::Linear(2, 4), nn::Sequential(nn::LayerNorm(4), nn::Dropout(0.5)),
                                 [](const Tensor& x) { return x * 2; }};
  Tensor operator()(const Tensor& x) const {
    Tensor y = net(x);
    for (const nn::AnyModule& layer : layers) y = layer(y);
    return y;
  }
};

TEST(Sequential, AppliesItsPartsInOrder) {
  manual_seed(1);
  nn::Sequential net(
      nn::Linear(2, 8), [](const Tensor& x) { return relu(x); }, nn::Linear(8, 1));
  static_assert(net.size() == 3);
  EXPECT_EQ(names_of(net), (Names{"0.weight", "0.bias", "2.weight", "2.bias"}));
  const Tensor x = randn({5, 2});
  expect_near(net(x), net.get<2>()(relu(net.get<0>()(x))));
  const nn::Sequential moved = std::move(net);
  EXPECT_EQ(moved(x).shape(), (Shape{5, 1}));
  EXPECT_EQ(nn::count_parameters(moved), 33);
  const nn::Sequential none;
  EXPECT_TRUE(none(x).same(x));
}

TEST(Sequential, InBracesDrawsWeightsInOrder) {
  manual_seed(1);
  const nn::Sequential net{nn::Linear(2, 8), nn::Linear(8, 1)};
  manual_seed(1);
  const nn::Linear first(2, 8), second(8, 1);
  EXPECT_TRUE(equal(net.get<0>().weight, first.weight));
  EXPECT_TRUE(equal(net.get<1>().weight, second.weight));
}

TEST(Sequential, StateRoundTrips) {
  Trunk from, to;
  EXPECT_TEXT(names_of(from));
  EXPECT_EQ(from.layers[0].as<nn::Dropout>(), nullptr);
  nn::load_state_dict(to, nn::state_dict(from));
  nn::eval(from);
  nn::eval(to);
  const Tensor x = randn({2, 3});
  EXPECT_EQ(values_of(to(x)), values_of(from(x)));
  nn::to(to, kFloat64);
  EXPECT_EQ(to(x.to(kFloat64)).dtype(), kFloat64);
}

TEST(Reshape, FlattenUnflattenAndIdentity) {
  const Tensor x = randn({2, 3, 4, 5});
  EXPECT_EQ(nn::Flatten()(x).shape(), (Shape{2, 60}));
  EXPECT_EQ(nn::Flatten(0)(x).shape(), (Shape{120}));
  EXPECT_EQ(nn::Flatten(1, 2)(x).shape(), (Shape{2, 12, 5}));
  EXPECT_EQ(values_of(nn::Flatten(-2)(x)), values_of(x));
  EXPECT_TRUE(nn::Identity()(x).same(x));
  const Tensor flat = x.flatten(1);
  EXPECT_EQ(nn::Unflatten(1, {3, 4, 5})(flat).shape(), x.shape());
  EXPECT_EQ(nn::Unflatten(-1, {3, -1, 5})(flat).shape(), x.shape());
  EXPECT_EQ(nn::Unflatten(0, {-1})(flat).shape(), (Shape{2, 60}));
  EXPECT_EQ(nn::Unflatten(1, {0, 4})(zeros({2, 0})).shape(), (Shape{2, 0, 4}));
  EXPECT_EQ(nn::Unflatten(1, {4, -1})(zeros({2, 0})).shape(), (Shape{2, 4, 0}));
  EXPECT_ERROR(nn::Unflatten(1, {7, -1})(flat));
  EXPECT_ERROR(nn::Unflatten(1, {-1, -1})(flat));
  EXPECT_ERROR(nn::Unflatten(2, {2})(flat));
}

// --- ties ---

Tensor loss_of(const Language& model) { return sum(model(tensor({{0, 1, 3}})) * tensor({1., -2., 3., 0., 1.})); }

TEST(Ties, TwoParametersShareOneLeaf) {
  Language model = tied_language();
  EXPECT_TRUE(model.table.weight.tied_to(model.head.weight));
  EXPECT_TRUE(model.table.weight->same(model.head.weight));
  EXPECT_EQ(names_of(model), (Names{"table.weight", "middle.weight", "middle.bias", "head.bias"}));
  EXPECT_EQ(nn::count_parameters(model), 15 + 12 + 5);
  EXPECT_EQ(model.head.weight.name(), "table.weight");
  const Gradients grads = Tape().backward(loss_of(model));
  EXPECT_EQ(grads.size(), 4U);
  // The sum of the gradients that two leaves of the same values get.
  Language apart = nn::clone(model);
  apart.head.weight = nn::Parameter(model.table.weight->clone());
  EXPECT_FALSE(apart.table.weight.tied_to(apart.head.weight));
  const Gradients parts = Tape().backward(loss_of(apart));
  expect_near(grads[model.head.weight], parts[apart.table.weight] + parts[apart.head.weight]);
}

TEST(Ties, AreKeptByClonesAndConversion) {
  const int64_t before = nn::Parameter::alive();
  Language model = tied_language();
  EXPECT_EQ(nn::Parameter::alive() - before, 4);
  Language copy = nn::clone(model);
  EXPECT_EQ(nn::Parameter::alive() - before, 8);
  EXPECT_TRUE(copy.table.weight.tied_to(copy.head.weight));
  EXPECT_FALSE(copy.table.weight.tied_to(model.table.weight));
  for (const DType dtype : {kFloat64, kBFloat16, kFloat32}) {
    nn::to(copy, dtype);
    EXPECT_TRUE(copy.table.weight->same(copy.head.weight));
    EXPECT_EQ(copy.head.weight->dtype(), dtype);
  }
  copy.head.weight.set(ones({5, 3}));
  EXPECT_EQ(values_of(copy.table.weight), Values(15, 1));
  EXPECT_NE(values_of(model.table.weight), Values(15, 1));
}

TEST(Ties, OptimisersUpdateTheLeafOnce) {
  Language model = tied_language();
  Language again = nn::clone(model);
  optim::SGD sgd(nn::parameters(model), {.lr = 0.5});
  const Gradients grads = Tape().backward(loss_of(model));
  const Tensor expected = again.table.weight - grads[model.table.weight] * 0.5;
  sgd.step(grads);
  expect_near(model.head.weight, expected);
  EXPECT_ERROR(optim::SGD({{"a", model.table.weight}, {"b", model.head.weight}}, {}));
}

TEST(Ties, StateHasTheFirstNameAndLoadsUnderAny) {
  Language model = tied_language();
  const NamedTensors state = nn::state_dict(model);
  ASSERT_EQ(state.size(), 4U);
  EXPECT_EQ(state[0].name, "table.weight");
  const auto with = [&](std::vector<std::pair<std::string, Tensor>> tables) {
    NamedTensors given(state.begin() + 1, state.end());
    for (auto& [name, values] : tables) given.push_back({name, values});
    return given;
  };
  const Tensor one = full({5, 3}, 1), two = full({5, 3}, 2);
  nn::load_state_dict(model, with({{"table.weight", one}}));
  EXPECT_EQ(values_of(model.head.weight), Values(15, 1));
  nn::load_state_dict(model, with({{"head.weight", two}}));
  EXPECT_EQ(values_of(model.table.weight), Values(15, 2));
  nn::load_state_dict(model, with({{"head.weight", one.to(kFloat64)}, {"table.weight", one}}));
  EXPECT_EQ(values_of(model.table.weight), Values(15, 1));
  EXPECT_ERROR(nn::load_state_dict(model, with({{"head.weight", two}, {"table.weight", one}})));
  EXPECT_ERROR(nn::load_state_dict(model, with({{"head.weight", ones({3})}, {"table.weight", one}})));
  EXPECT_ERROR(nn::load_state_dict(model, with({})));
  EXPECT_EQ(values_of(model.table.weight), Values(15, 1));
}

TEST(Ties, AreRejectedWhereTheyDoNotFit) {
  nn::Linear a(2, 3), b(3, 2), c(2, 3, false);
  EXPECT_ERROR(tie(a.weight, b.weight));
  EXPECT_EQ(error_of([&] { tie(a.bias, c.bias); }), "[tie] expected two parameters with values, got one without");
  Tape tape;
  const Tensor y = sum(c(ones({1, 2})));
  EXPECT_ERROR(tie(a.weight, c.weight));
}

// --- freezing ---

TEST(Freeze, FrozenParametersGetNoGradientAndRecordNothing) {
  manual_seed(5);
  Language model;
  nn::freeze(model.table);
  nn::freeze(model.head.bias);
  EXPECT_TRUE(model.table.weight.frozen() && model.head.bias.frozen());
  EXPECT_TRUE(model.table.weight->is_frozen() && model.table.weight->is_leaf());
  EXPECT_EQ(nn::count_parameters(model), 15 + 12 + 20);
  EXPECT_EQ(nn::count_trainable_parameters(model), 12 + 15);
  const auto grads_of = [&] {
    Tape tape;
    const Tensor h = model.table(tensor({{0, 1}}));
    EXPECT_EQ(tape.size(), 0);
    return tape.backward(sum(model.head(tanh(model.middle(h)))));
  };
  const Gradients some = grads_of();
  EXPECT_EQ(some.size(), 3U);
  EXPECT_TRUE(some.contains(model.head.weight));
  EXPECT_FALSE(some.contains(model.head.bias));
  nn::named_parameters(model);
  EXPECT_EQ(error_of([&] { some[model.head.bias]; }), "[gradients] the leaf \"head.bias\" of shape [5] is frozen");
  nn::unfreeze(model);
  EXPECT_EQ(nn::count_trainable_parameters(model), nn::count_parameters(model));
  const Gradients all = Tape().backward(loss_of(model));
  EXPECT_EQ(all.size(), 5U);
}

// An operation only on weights: is the gradient of a frozen one requested?
TEST(Freeze, BackwardComputesNoGradientsOfFrozenWeights) {
  nn::Linear a(300, 200), b(200, 100);
  const Tensor x = randn({50, 300});
  const auto positions = [&] {
    Tape tape;
    const Tensor y = sum(b(a(x)));
    return std::pair{tape.size(), tape.backward(y).size()};
  };
  EXPECT_EQ(positions(), (std::pair<int64_t, std::size_t>{4 + 3, 4}));
  nn::freeze(a);
  EXPECT_EQ(positions(), (std::pair<int64_t, std::size_t>{2 + 2, 2}));
  nn::freeze(b.weight);
  EXPECT_EQ(positions(), (std::pair<int64_t, std::size_t>{1 + 2, 1}));
}

TEST(Freeze, GradientsOfTheOthersAreTheSame) {
  Language model = tied_language();
  const auto grads_of = [&] { return Tape().backward(loss_of(model)); };
  const Gradients all = grads_of();
  nn::freeze(model.head.weight);  // and with it the table
  const Gradients some = grads_of();
  EXPECT_TRUE(model.table.weight.frozen());
  EXPECT_EQ(some.size(), 3U);
  EXPECT_EQ(values_of(some[model.middle.weight]), values_of(all[model.middle.weight]));
}

TEST(Freeze, OptimisersIgnoreFrozenParametersUntilTheyAreUnfrozen) {
  nn::Linear model(2, 1);
  model.weight.set(ones({1, 2}));
  model.bias.set(ones({1}));
  nn::freeze(model.weight);
  optim::Adam adam(nn::parameters(model), {.lr = 0.1, .weight_decay = 0.5});
  const auto step = [&] { adam.step(Tape().backward(sum(model(ones({1, 2}))))); };
  step();
  EXPECT_EQ(values_of(model.weight), (Values{1, 1}));
  expect_near(model.bias, {0.9});
  EXPECT_EQ(adam.state().size(), 6U);  // as if nothing were frozen
  optim::Adam resumed(nn::parameters(model), {.lr = 0.1, .weight_decay = 0.5});
  resumed.load_state(adam.state());
  nn::unfreeze(model);
  step();
  expect_near(model.weight, {0.9, 0.9});  // the first update of the weight: its own bias correction
  const Values bias = values_of(model.bias);
  nn::freeze(model);
  EXPECT_ERROR(step());
  EXPECT_EQ(values_of(model.bias), bias);
}

TEST(Freeze, TakesEffectForWhatIsRecordedFromThenOn) {
  nn::Parameter w(tensor({1., 2.}));
  optim::SGD sgd({{"w", w}}, {.lr = 1});
  Tape tape;
  const Tensor before = sum(w * 3);
  w.freeze();
  const Tensor loss = before + sum(w * 100);
  w.freeze(false);
  const Tensor all = loss + sum(w * 10);
  w.freeze();
  const Gradients grads = tape.backward(all);
  EXPECT_EQ(values_of(grads[w]), (Values{13, 13}));
  sgd.step(grads);  // a frozen parameter is known, and keeps its values
  EXPECT_EQ(values_of(w), (Values{1, 2}));
  w.freeze(false);
  sgd.step(grads);
  EXPECT_EQ(values_of(w), (Values{-12, -11}));
}

TEST(Freeze, AFrozenParameterKeepsItsValuesWhileATapeMayNeedThem) {
  nn::Parameter w(tensor({1., 2.})), x(tensor({3., 4.}));
  w.freeze();
  {
    Tape tape;
    const Tensor loss = sum(w * x);
    EXPECT_ERROR(w.set(zeros({2})));
    EXPECT_EQ(values_of(tape.backward(loss)[x]), (Values{1, 2}));
    w.set(tensor({5., 6.}));
  }
  EXPECT_EQ(values_of(w), (Values{5, 6}));
}

TEST(Freeze, IsKeptByClonesConversionAndState) {
  Language model;
  nn::freeze(model.middle);
  Language copy = nn::clone(model);
  EXPECT_TRUE(copy.middle.weight.frozen() && copy.middle.weight->is_frozen());
  EXPECT_FALSE(copy.head.weight.frozen());
  for (const DType dtype : {kBFloat16, kFloat64}) {
    nn::to(copy, dtype);
    EXPECT_TRUE(copy.middle.weight.frozen());
  }
  EXPECT_TRUE(copy.middle.weight->is_frozen());
  EXPECT_EQ(nn::state_dict(model).size(), 5U);
  nn::load_state_dict(model, nn::state_dict(copy));
  EXPECT_TRUE(model.middle.weight->is_frozen());
  EXPECT_EQ(error_of([&] { ones({2}).set_frozen(true); }), "[set_frozen] expected a leaf, got a tensor of shape [2]");
  // A checkpointed function sees frozen parameters as constants, too.
  nn::freeze(model);
  Tape tape;
  const Tensor x = ones({2, 3}).as_leaf();
  const Tensor y = nn::recompute(x, [&](const Tensor& in) { return model.middle(in); });
  EXPECT_EQ(tape.backward(sum(y)).size(), 1U);
}

}  // namespace
}  // namespace tapegrad::tests
