// Writing a parameter changes that leaf only; all other tensors keep their values.
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

struct Two {
  nn::Parameter a{tensor({1., 2.})}, b{tensor({3., 4.})};
  nn::Buffer c{tensor({5., 6.})};
};

// leaf -= 10
void step(optim::Optimizer& optimizer, const Tensor& leaf) { optimizer.step(Tape().backward(sum(leaf * 10))); }

TEST(Ownership, AnOptimizerDoesNotChangeConstantsOfATape) {
  nn::Parameter w(tensor({2., 3.}));
  const Tensor v = tensor({1., 1.}).as_leaf();
  optim::SGD sgd({{"w", w.tensor()}}, {.lr = 1});
  Tape outer;
  const Tensor loss = sum(v * w.tensor().detach());
  step(sgd, w);
  EXPECT_EQ(values_of(w), (Values{-8, -7}));
  EXPECT_EQ(values_of(outer.backward(loss)[v]), (Values{2, 3}));
}

TEST(Ownership, AnOptimizerDoesNotChangeTheTensorOfALeaf) {
  const Tensor x = tensor({1., 2.}), leaf = x.as_leaf(), part = leaf.slice(0, 1);
  optim::SGD sgd({{"w", leaf}}, {.lr = 1});
  step(sgd, leaf);
  EXPECT_EQ(values_of(x), (Values{1, 2}));
  EXPECT_EQ(values_of(part), (Values{2}));
  EXPECT_EQ(values_of(leaf), (Values{-9, -8}));
}

TEST(Ownership, TwoLeavesOfOneTensorAreTrainedSeparately) {
  const Tensor x = tensor({1., 2.}), a = x.as_leaf(), b = x.as_leaf();
  optim::SGD sgd({{"a", a}, {"b", b}}, {.lr = 1});
  sgd.step(Tape().backward(sum(a * 10) + sum(b * 100)));
  EXPECT_EQ(values_of(a), (Values{-9, -8}));
  EXPECT_EQ(values_of(b), (Values{-99, -98}));
  EXPECT_EQ(values_of(x), (Values{1, 2}));
}

TEST(Ownership, AGradientMayBeAParameter) {
  static const Op kDot{"dot"};
  nn::Parameter a(tensor({1., 2.})), b(tensor({3., 4.}));
  optim::SGD sgd({{"a", a}, {"b", b}}, {.lr = 1});
  sgd.step(Tape().backward(record(kDot, sum(a * b).detach(), {a.tensor(), b.tensor()}, [&](const Tensor&) -> Grads {
    return {b.tensor(), a.tensor()};
  })));
  EXPECT_EQ(values_of(a), (Values{-2, -2}));
  EXPECT_EQ(values_of(b), (Values{2, 2}));
}

TEST(Ownership, AParameterTakesValuesThatShareItsMemory) {
  nn::Parameter w(tensor({{1., 2.}, {3., 4.}}));
  const Tensor before = w.tensor().detach();
  w.set(w.tensor().t());
  EXPECT_EQ(values_of(w), (Values{1, 3, 2, 4}));
  EXPECT_EQ(values_of(before), (Values{1, 2, 3, 4}));
  w.set(w);
  EXPECT_EQ(values_of(w), (Values{1, 3, 2, 4}));
  w.set(w->slice(0, 0, 1).expand({2, 2}));
  EXPECT_EQ(values_of(w), (Values{1, 3, 1, 3}));
}

TEST(Ownership, AStateIsASnapshotAndMayBeLoadedSwapped) {
  Two model;
  NamedTensors state = nn::state_dict(model);
  const NamedTensors kept = nn::state_dict(model);
  std::swap(state[0].tensor, state[1].tensor);
  nn::load_state_dict(model, state);
  EXPECT_EQ(values_of(model.a), (Values{3, 4}));
  EXPECT_EQ(values_of(model.b), (Values{1, 2}));
  model.c.set(model.c.tensor() * 2);
  std::fill_n(model.a.mutable_data<float>(), 2, 7.0f);
  EXPECT_EQ(values_of(kept[0].tensor), (Values{1, 2}));
  EXPECT_EQ(values_of(kept[1].tensor), (Values{3, 4}));
  EXPECT_EQ(values_of(kept[2].tensor), (Values{5, 6}));
  EXPECT_EQ(values_of(model.a), (Values{7, 7}));
}

TEST(Ownership, AnOptimizersStateIsASnapshotAndMayBeLoadedSwapped) {
  nn::Parameter a(tensor({1., 2.})), b(tensor({3., 4.}));
  optim::Adam adam({{"a", a}, {"b", b}}, {.lr = 0.1});
  const auto train = [&] { adam.step(Tape().backward(sum(a * 10) + sum(b * 100))); };
  train();
  const auto find = [](const NamedTensors& state, std::string_view name) {
    return std::find_if(state.begin(), state.end(), [&](const NamedTensor& t) { return t.name == name; })->tensor;
  };
  NamedTensors state = adam.state();
  const Tensor m_a = find(state, "m.a");
  const Values before = values_of(m_a);
  train();
  EXPECT_EQ(values_of(m_a), before);
  EXPECT_NE(values_of(find(adam.state(), "m.a")), before);
  for (NamedTensor& t : state) {
    if (t.name == "m.a") t.tensor = find(adam.state(), "m.b");
    if (t.name == "m.b") t.tensor = find(adam.state(), "m.a");
  }
  const Values a_now = values_of(find(adam.state(), "m.a")), b_now = values_of(find(adam.state(), "m.b"));
  adam.load_state(state);
  EXPECT_EQ(values_of(find(adam.state(), "m.a")), b_now);
  EXPECT_EQ(values_of(find(adam.state(), "m.b")), a_now);
}

TEST(Ownership, ASubstituteKeepsItsValues) {
  nn::Parameter w(tensor({1., 2.}));
  const Tensor other = tensor({3., 4.});
  w.substitute(other);
  w.set(tensor({5., 6.}));
  EXPECT_EQ(values_of(other), (Values{3, 4}));
  EXPECT_EQ(values_of(w), (Values{5, 6}));
}

TEST(Ownership, ALeafThatATapeHasRecordedDoesNotChange) {
  nn::Parameter w(tensor({1., 2.}));
  const Tensor twin = w.tensor().detach().as_leaf();  // shares the memory, but is not changed with it
  optim::SGD sgd({{"twin", twin}}, {.lr = 1});
  Tape tape;
  const Tensor loss = sum(w * w);
  step(sgd, twin);
  EXPECT_ERROR(w.set(tensor({0., 0.})));
  EXPECT_EQ(values_of(tape.backward(loss)[w]), (Values{2, 4}));
  EXPECT_EQ(values_of(twin), (Values{-9, -8}));
}

TEST(Ownership, AStepOfTrainingCopiesNothing) {
  nn::Parameter w(tensor({1., 2.}));
  optim::Adam adam({{"w", w}});
  step(adam, w);
  const void* const memory = w->raw_data();
  for (int i = 0; i < 3; ++i) step(adam, w);
  EXPECT_EQ(w->raw_data(), memory);
  const Tensor snapshot = w.tensor().detach();
  step(adam, w);
  EXPECT_NE(w->raw_data(), memory);
  EXPECT_EQ(snapshot.raw_data(), memory);
}

TEST(Ownership, AStateOfLeavesMayBeLoadedSwapped) {
  Two model;
  nn::load_state_dict(model, {{"a", model.b.tensor()}, {"b", model.a.tensor()}, {"c", model.c.tensor()}});
  EXPECT_EQ(values_of(model.a), (Values{3, 4}));
  EXPECT_EQ(values_of(model.b), (Values{1, 2}));
}

TEST(Ownership, ALoadThatIsRejectedChangesNothing) {
  Two model;
  Tape tape;
  const Tensor loss = sum(model.b * 2);
  const Tensor ten = full({2}, 10);
  EXPECT_ERROR(nn::load_state_dict(model, {{"a", ten}, {"b", ten}, {"c", ten}}));
  EXPECT_ERROR(nn::to(model, kFloat64));
  EXPECT_EQ(values_of(model.a), (Values{1, 2}));
  EXPECT_ERROR(nn::to(model, kInt64));
  EXPECT_EQ(values_of(model.c), (Values{5, 6}));
}

TEST(Ownership, AModelReturnsFromBFloat16) {
  Two model;
  nn::to(model, kBFloat16);
  EXPECT_EQ(model.c->dtype(), kBFloat16);
  nn::to(model, kFloat32);
  EXPECT_EQ(values_of(model.a), (Values{1, 2}));
  EXPECT_EQ(values_of(model.c), (Values{5, 6}));
}

TEST(Ownership, ASubstituteOfAnyLayoutIsOverwrittenInOrder) {
  for (const Tensor& other : {tensor({{1., 2.}, {3., 4.}}).t(), zeros({1, 2}).expand({2, 2})}) {
    nn::Parameter w(zeros({2, 2}));
    w.substitute(other.as_leaf());
    w.set(tensor({{5., 6.}, {7., 8.}}));
    EXPECT_EQ(values_of(w), (Values{5, 6, 7, 8}));
  }
  nn::Parameter w(zeros({2}));
  EXPECT_ERROR(w.substitute(zeros({2}, kInt64)));
}

}  // namespace
}  // namespace tapegrad::tests
