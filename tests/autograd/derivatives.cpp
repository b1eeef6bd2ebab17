// Derivatives as functions: against closed forms, finite differences and each other, to third order.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

Tensor drawn_values(const Shape& shape, uint64_t seed = 3) {
  Generator generator(seed);
  return uniform(shape, -1.5, 1.5, kFloat64, &generator);
}

const auto cubes = [](const Tensor& x) { return sum(x * x * x); };

TEST(Derivatives, OfOneTensor) {
  const Tensor x = drawn_values({2, 3});
  expect_within(grad(cubes)(x), 3 * x * x);
  const auto [value, dx] = value_and_grad(cubes)(x);
  expect_within(value, cubes(x));
  expect_within(dx, 3 * x * x);
  expect_within(grad([](const Tensor&) { return scalar(1.0, kFloat64); })(x), zeros({2, 3}, kFloat64));
  expect_within(grad(cubes)(x.to(kFloat32)), (3 * x * x).to(kFloat32), 1e-6);
}

TEST(Derivatives, OfSeveralTensorsAndOfSpans) {
  const Tensor a = drawn_values({3}), b = drawn_values({3}, 5);
  const auto [da, db] = grad([](const Tensor& x, const Tensor& y) { return sum(x * x * y); })(a, b);
  expect_within(da, 2 * a * b);
  expect_within(db, a * a);
  const auto [value, grads] = value_and_grad([](auto& x, auto& y, const Tensor&) { return sum(x / y); })(a, b, a);
  expect_within(value, sum(a / b));
  ASSERT_EQ(grads.size(), 3u);
  expect_within(grads[1], -a / (b * b));
  expect_within(grads[2], zeros({3}, kFloat64));
  const std::vector<Tensor> list{a, b}, both = grad([](std::span<const Tensor> x) { return sum(x[0] * x[1]); })(list);
  ASSERT_EQ(both.size(), 2u);
  expect_within(both[0], b);
  expect_within(both[1], a);
}

TEST(Derivatives, OfAnyOrder) {
  const Tensor x = scalar(0.7, kFloat64);
  const auto f = [](const Tensor& v) { return sin(v) * exp(v); };
  const double s = std::sin(0.7), c = std::cos(0.7), e = std::exp(0.7);
  EXPECT_NEAR(grad(f)(x).item(), e * (s + c), 1e-14);
  EXPECT_NEAR(grad(grad(f))(x).item(), 2 * e * c, 1e-14);
  EXPECT_NEAR(grad(grad(grad(f)))(x).item(), 2 * e * (c - s), 1e-13);
  EXPECT_NEAR(grad(grad(grad(grad(f))))(x).item(), -4 * e * s, 1e-13);
}

TEST(Derivatives, ProductsAreThoseOfTheWholeMatrices) {
  const Tensor w = drawn_values({3, 4}, 1), x = drawn_values({4}, 2), v = drawn_values({4}, 6),
               u = drawn_values({3}, 7);
  const auto f = [&](const Tensor& y) { return tanh(matmul(w, y)); };
  const Tensor j = jacobian(f, x);  // [3, 4]
  expect_within(j, (1 - f(x) * f(x)).reshape({3, 1}) * w);
  const auto [y, jv] = jvp(f, x, v);
  expect_within(y, f(x));
  expect_within(jv, matmul(j, v));
  expect_within(vjp(f, x, u).product, matmul(u, j));

  const auto loss = [&](const Tensor& z) { return sum(exp(matmul(w, z))) + sum(z * z * z); };
  const Tensor h = hessian(loss, x);
  expect_within(h, h.t());
  expect_within(h, matmul(w.t() * exp(matmul(w, x)), w) + 6 * x.reshape({4, 1}) * eye(4, kFloat64));
  const auto [value, hv] = hvp(loss, x, v);
  expect_within(value, loss(x));
  expect_within(hv, matmul(h, v));
}

TEST(Derivatives, ShapesOfMatricesAreThoseOfBothSides) {
  const Tensor x = drawn_values({2, 3});
  const Tensor j = jacobian([](const Tensor& y) { return y.t() * 2; }, x);
  ASSERT_EQ(str(j.shape()), "[3, 2, 2, 3]");
  EXPECT_EQ(sum(j).item(), 12);
  EXPECT_EQ(str(jacobian([](const Tensor& y) { return y.slice(0, 0, 0); }, x).shape()), "[0, 3, 2, 3]");
  EXPECT_EQ(str(hessian(cubes, x).shape()), "[2, 3, 2, 3]");
  EXPECT_EQ(str(hessian(cubes, scalar(2.0, kFloat64)).shape()), "[]");
}

TEST(Derivatives, OfListsOfTensors) {
  const std::vector<Tensor> x{drawn_values({2}), drawn_values({3}, 4)}, v{drawn_values({2}, 5), drawn_values({3}, 6)};
  const auto f = [](const Tensor& a, const Tensor& b) { return sum(a * a) * sum(b * b * b); };
  const std::vector<std::vector<Tensor>> h = hessian(f, x);
  expect_within(h[0][1], (2 * x[0]).reshape({2, 1}) * (3 * x[1] * x[1]));
  const auto product = hvp(f, x, v).product;
  expect_within(product[0], matmul(h[0][0], v[0]) + matmul(h[0][1], v[1]));
  expect_within(product[1], matmul(h[1][0], v[0]) + matmul(h[1][1], v[1]));
  const std::vector<Tensor> j = jacobian(f, x);
  expect_within(jvp(f, x, v).product, sum(j[0] * v[0]) + sum(j[1] * v[1]));
  expect_within(vjp(f, x, scalar(2.0, kFloat64)).product[1], 2 * j[1]);
}

// A loss made of derivatives, as in physics-informed networks: its gradient reaches the captured tensors.
TEST(Derivatives, AreRecordedOnATape) {
  const Tensor w = drawn_values({3}).as_leaf(), x = drawn_values({3}, 9);
  Tape tape;
  const auto f = [&](const Tensor& y) { return sum(sin(w * y)); };
  const Tensor slope = grad(f)(x);                                                                // w cos(w x)
  const Tensor curve = jvp([&](auto& y) { return grad(f)(y); }, x, ones({3}, kFloat64)).product;  // -w^2 sin(w x)
  const Gradients grads = tape.backward(sum(slope + curve));
  EXPECT_EQ(grads.size(), 1u);  // only of w: the points of the derivatives are not leaves
  const Tensor wx = w.detach() * x, v = w.detach();
  expect_within(grads[w], cos(wx) - wx * sin(wx) - 2 * v * sin(wx) - v * v * x * cos(wx));
}

TEST(Derivatives, FlowIntoTheirPoint) {
  const Tensor x = drawn_values({3}).as_leaf();
  Tape tape;
  const Tensor loss = sum(grad(cubes)(x * 2));  // 12 x^2
  expect_within(tape.backward(loss)[x], 24 * x.detach());
}

TEST(Derivatives, LeaveNothingBehind) {
  const Tensor x = drawn_values({3}), g = grad(cubes)(x);
  EXPECT_EQ(Tape::current(), nullptr);
  EXPECT_EQ(g.tape_index().tape, 0u);
  const Tensor leaf = x.as_leaf();
  grad([&](const Tensor& y) { return sum(y * leaf); })(x);
  leaf.require_writable("test", "leaf");
}

TEST(Derivatives, Errors) {
  const Tensor x = drawn_values({3});
  const auto same = [](const Tensor& y) { return y * 2; };
  EXPECT_EQ(error_of([&] { grad(same)(x); }), "[grad] expected a function whose result has one element, got shape [3]");
  EXPECT_ERROR(hessian(same, x));
  EXPECT_EQ(error_of([&] { grad(cubes)(arange(3)); }), "[grad] expected float32 or float64 arguments, got int64");
  EXPECT_ERROR(vjp(same, x, drawn_values({2})));
  EXPECT_ERROR(jvp(same, x, x.to(kFloat32)));
  EXPECT_ERROR(jvp(same, std::vector<Tensor>{x}, std::vector<Tensor>{}));
  EXPECT_ERROR(jacobian(same, std::vector<Tensor>{}));
}

// --- the options of backward that they use ---

TEST(BackwardOptions, RetainGraphRunsAgain) {
  const Tensor x = drawn_values({3}).as_leaf();
  Tape tape;
  const Tensor y = sum(exp(x) * x), first = tape.backward(y, {.retain_graph = true})[x];
  const int64_t size = tape.size();
  expect_within(tape.backward(y, {.retain_graph = true})[x], first);
  EXPECT_EQ(tape.size(), size);  // backward itself was not recorded
  expect_within(tape.backward(y)[x], first);
  EXPECT_THROW(tape.backward(y), Error);
}

TEST(BackwardOptions, OnlyRunsWhatIsNeeded) {
  const Tensor x = drawn_values({3}).as_leaf(), w = drawn_values({3}, 2).as_leaf(),
               unused = drawn_values({2}).as_leaf();
  int calls = 0;
  static const Op kCounted{"counted"};
  const auto counted = [&](const Tensor& v) {
    return record(kCounted, v.detach() * 1, {v}, [&calls](const Tensor& dy) -> Grads {
      ++calls;
      return dy;
    });
  };
  Tape tape;
  const Tensor a = counted(w), b = a * x, loss = sum(b * b);
  Gradients only = tape.backward(loss, {.retain_graph = true, .only = {x}});
  EXPECT_EQ(only.size(), 1u);
  EXPECT_EQ(calls, 0);
  const Tensor dx = only[x];
  only = tape.backward(loss, {.retain_graph = true, .only = {a}});
  EXPECT_EQ(only.size(), 1u);
  EXPECT_EQ(calls, 0);
  only = tape.backward(loss, {.retain_graph = true, .only = {unused}});
  EXPECT_EQ(only.size(), 0u);
  const Gradients all = tape.backward(loss);
  EXPECT_EQ(calls, 1);
  expect_within(all[x], dx);
  EXPECT_EQ(all.size(), 2u);
}

TEST(BackwardOptions, Errors) {
  EXPECT_EQ(error_of([] { Tape::variable(ones({2})); }), "[variable] expected a tape that records, got none");
  const Tensor x = drawn_values({3}).as_leaf();
  EXPECT_ERROR(Tape().backward(sum(x), {.only = {ones({2})}}));
  EXPECT_TEXT(error_of([] {
    Tape inner;
    Tape::variable(arange(2));
  }));
}

}  // namespace
}  // namespace tapegrad::tests
