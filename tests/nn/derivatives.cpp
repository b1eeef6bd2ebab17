// Derivatives with respect to the parameters of a model, against closed forms, backward and each other.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::nn {
namespace {

using namespace tests;

struct DerivedNet {
  Linear up{3, 4}, down{4, 2};
  Tensor operator()(const Tensor& x) const { return down(tanh(up(x))); }
};

DerivedNet net(DType dtype = kFloat64) {
  manual_seed(5);
  DerivedNet made;
  to(made, dtype);
  return made;
}

std::vector<Tensor> values_like(const DerivedNet& model, uint64_t seed) {
  std::vector<Tensor> values;
  for (const NamedParameter& p : named_parameters(model)) values.push_back(normal_of(p.parameter->shape(), ++seed));
  return values;
}

const Tensor kX = normal_of({5, 3}, 21), kY = normal_of({5, 2}, 22);
const auto loss_of = [](const DerivedNet& model) { return mse_loss(model(kX), kY); };

TEST(ModelDerivatives, GradientsAreThoseOfBackward) {
  DerivedNet model = net();
  const auto [value, grads] = value_and_grad(model, loss_of);
  Tape tape;
  const Tensor loss = loss_of(model);
  EXPECT_EQ(value.item(), loss.item());
  Gradients expected = tape.backward(loss);
  const NamedTensors leaves = parameters(model);
  ASSERT_EQ(grads.size(), leaves.size());
  for (std::size_t i = 0; i < grads.size(); ++i) {
    EXPECT_TRUE(equal(grads[i], expected[leaves[i].tensor])) << leaves[i].name;
  }
  DerivedNet single = net(kFloat32);
  const Tensor x = kX.to(kFloat32);
  EXPECT_EQ(grad(single, [&](const DerivedNet& m) { return sum(m(x)); })[0].dtype(), kFloat32);
}

TEST(ModelDerivatives, ProductsAreThoseOfTheWholeMatrices) {
  DerivedNet model = net();
  const std::vector<Tensor> v = values_like(model, 40);
  const auto [value, hv] = hvp(model, v, loss_of);
  expect_within(value, loss_of(model));
  const std::vector<std::vector<Tensor>> h = hessian(model, loss_of);
  ASSERT_EQ(h.size(), 4u);
  for (std::size_t i = 0; i < h.size(); ++i) {
    Tensor expected = zeros(v[i].shape(), kFloat64);
    for (std::size_t j = 0; j < h.size(); ++j) expected = expected + tensordot(h[i][j], v[j], v[j].dim());
    expect_within(hv[i], expected);
  }

  const auto outputs = [](const DerivedNet& m) { return m(kX); };
  const std::vector<Tensor> j = jacobian(model, outputs);
  const Tensor u = normal_of({5, 2}, 60);
  Tensor jv = zeros({5, 2}, kFloat64);
  for (std::size_t i = 0; i < j.size(); ++i) {
    jv = jv + tensordot(j[i], v[i], v[i].dim());
    expect_within(vjp(model, u, outputs).product[i], tensordot(u, j[i], 2));
  }
  expect_within(jvp(model, v, outputs).product, jv);
}

TEST(ModelDerivatives, HessianOfLogisticRegression) {
  manual_seed(2);
  Linear model(3, 1, false);
  to(model, kFloat64);
  const Tensor target = gt(normal_of({5, 1}, 9), 0.0).to(kFloat64);
  const auto loss = [&](const Linear& m) { return binary_cross_entropy_with_logits(m(kX), target); };
  // H = X^T diag(p (1 - p)) X / n
  const Tensor p = sigmoid(model(kX));
  const Tensor closed = matmul(kX.t(), p * (1 - p) * kX) / 5;
  expect_within(hessian(model, loss)[0][0].reshape({3, 3}), closed);
  expect_within(grad(model, loss)[0], matmul((p - target).t(), kX) / 5);
}

TEST(ModelDerivatives, AreRecordedByATape) {
  DerivedNet model = net();
  const Tensor rate = scalar(0.1, kFloat64).as_leaf();
  // The loss after one step of gradient descent, differentiated with respect to the step size: -<g(step), g>.
  Tape tape;
  const std::vector<Tensor> g = grad(model, loss_of);
  std::vector<Tensor> moved;
  for (std::size_t i = 0; i < g.size(); ++i) moved.push_back(parameters(model)[i].tensor - rate * g[i]);
  const Tensor after = functional_call(model, moved, loss_of);
  const double slope = tape.backward(after)[rate].item();
  const auto at = [&](double r) {
    std::vector<Tensor> stepped;
    for (std::size_t i = 0; i < g.size(); ++i)
      stepped.push_back(parameters(model)[i].tensor.detach() - r * g[i].detach());
    return functional_call(model, stepped, loss_of).item();
  };
  EXPECT_NEAR(slope, (at(0.1001) - at(0.0999)) / 0.0002, 1e-7);
}

TEST(ModelDerivatives, LeaveTheModelAsItWas) {
  DerivedNet model = net();
  freeze(model.down);
  const NamedTensors before = parameters(model);
  const std::vector<Tensor> values = values_like(model, 70);
  const Tensor other = functional_call(model, values, [&](const DerivedNet& m) {
    EXPECT_TRUE(equal(m.up.weight.tensor(), values[0]));
    return m(kX);
  });
  EXPECT_FALSE(allclose(other, model(kX)));
  EXPECT_THROW(functional_call(model, values, [](const DerivedNet&) -> Tensor { fail("test", "no"); }), Error);
  hvp(model, values, loss_of);
  EXPECT_THROW(grad(model, [](const DerivedNet&) -> Tensor { fail("test", "no"); }), Error);
  const NamedTensors after = parameters(model);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(after[i].name, before[i].name);
    EXPECT_EQ(after[i].tensor.tape_index().position, before[i].tensor.tape_index().position) << "another leaf";
    EXPECT_EQ(after[i].tensor.data<double>(), before[i].tensor.data<double>());
  }
  EXPECT_TRUE(model.down.weight.frozen() && model.down.weight->is_frozen());
  // Gradients with respect to frozen parameters are not zero; an existing optimiser still has the parameters.
  EXPECT_GT(norm(grad(model, loss_of)[2]).item(), 0);
  Tape tape;
  tape.trap_nan();
  EXPECT_NE(error_of([&] { mse_loss(model(kX * kInf), kY); }).find("up.weight"), std::string::npos) << "no name";
}

struct Tied {
  Linear first{2, 2, false}, second{2, 2, false};
  Tensor operator()(const Tensor& x) const { return second(first(x)); }
};

TEST(ModelDerivatives, CountTiedParametersOnce) {
  manual_seed(1);
  Tied model;
  to(model, kFloat64);
  tie(model.first.weight, model.second.weight);
  const Tensor x = normal_of({1, 2}, 4);
  const auto both = [&](const Tied& m) { return sum(m(x)); };
  const auto of_matrix = [&](const Tensor& w) { return sum(matmul(matmul(x, w.t()), w.t())); };
  const std::vector<Tensor> g = grad(model, both);
  ASSERT_EQ(g.size(), 1u);
  expect_within(g[0], tapegrad::grad(of_matrix)(model.first.weight.tensor()));
  EXPECT_TRUE(model.first.weight.tied_to(model.second.weight));
}

TEST(ModelDerivatives, UpdateRunningStatisticsOncePerCall) {
  BatchNorm1d norm(3);
  to(norm, kFloat64);
  BatchNorm1d once = clone(norm);
  once(kX);
  hessian(norm, [](const BatchNorm1d& m) { return sum(square(m(kX))); });
  EXPECT_TRUE(equal(norm.running_mean.tensor(), once.running_mean.tensor()));
}

struct Empty {
  void visit(auto&&) {}
};

TEST(ModelDerivatives, ParametersInOneRow) {
  DerivedNet model = net();
  const Tensor row = parameters_to_vector(model);
  EXPECT_EQ(str(row.shape()), "[26]");
  EXPECT_TRUE(equal(row.slice(0, 12, 16), model.up.bias.tensor()));
  DerivedNet other = net();
  vector_to_parameters(normal_of({26}, 8), other);
  EXPECT_TRUE(equal(parameters_to_vector(other), normal_of({26}, 8)));
  vector_to_parameters(row.to(kFloat32), other);  // converted to the parameter's type
  EXPECT_EQ(other.up.weight->dtype(), kFloat64);
  EXPECT_TRUE(allclose(parameters_to_vector(other), row, 1e-6, 1e-6));
  const Tensor own = model.up.weight.tensor();
  Linear only(2, 3, false);
  vector_to_parameters(flip(parameters_to_vector(only), {0}), only);
  expect_within(Tape().backward(sum(square(parameters_to_vector(model))))[own], 2 * own.detach());
  Empty empty;
  EXPECT_EQ(str(parameters_to_vector(empty).shape()), "[0]");
  vector_to_parameters(zeros({0}), empty);
  EXPECT_ERROR(grad(empty, [](Empty&) { return ones({}); }));
}

TEST(ModelDerivatives, Errors) {
  DerivedNet model = net();
  std::vector<Tensor> values = values_like(model, 1);
  const auto call = [&] { functional_call(model, values, loss_of); };
  values[2] = zeros({3, 3});
  EXPECT_EQ(error_of(call), "[functional_call] expected float32 or float64 [2, 4] for down.weight, got float32 [3, 3]");
  values[2] = arange(8).reshape({2, 4});
  EXPECT_EQ(error_of(call), "[functional_call] expected float32 or float64 [2, 4] for down.weight, got int64 [2, 4]");
  values.pop_back();
  EXPECT_EQ(error_of(call), "[functional_call] expected one tensor per parameter, got 3 for 4");
  EXPECT_ERROR(vector_to_parameters(zeros({25}), model));
  EXPECT_ERROR(grad(model, [](const DerivedNet& m) { return m(kX); }));
  DerivedNet stored = net();
  to(stored, kBFloat16);
  EXPECT_EQ(error_of([&] { grad(stored, loss_of); }), "[grad] expected float32 or float64 arguments, got bfloat16");
  EXPECT_ERROR(functional_call(stored, values_like(model, 1), loss_of));
  Tape tape;
  loss_of(model);
  const double before = model.up.weight->data<double>()[0];
  EXPECT_NE(error_of([&] { vector_to_parameters(normal_of({26}, 3), model); }), "no error");
  EXPECT_EQ(model.up.weight->data<double>()[0], before);
}

}  // namespace
}  // namespace tapegrad::nn
