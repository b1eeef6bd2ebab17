// Forward mode: jvp of every sample of every operation against two backward passes and against one, in both types; its
// nesting, what it keeps in memory, and what it refuses.
#include <tapegrad/autograd/flex_attention.h>
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tasks {
namespace {

using tests::error_of;

// Numbers between -1 and 1 without pattern.
Tensor without_pattern(const Tensor& x, uint64_t seed) {
  Generator generator(seed);
  return (rand(x.shape(), kFloat64, &generator) * 2 - 1).to(x.dtype());
}

// A sample as a function of its floating inputs, in one type.
struct FloatingFunction {
  FloatingFunction(const OpSample& sample, DType dtype) : sample(&sample), all(sample.inputs) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!is_floating(all[i].dtype())) continue;
      all[i] = all[i].to(dtype);
      places.push_back(i);
      x.push_back(all[i]);
      v.push_back(without_pattern(all[i], i + 1));
    }
  }

  Tensor operator()(std::span<const Tensor> at) const {
    std::vector<Tensor> inputs = all;
    for (std::size_t i = 0; i < places.size(); ++i) inputs[places[i]] = at[i];
    return sample->f(inputs);
  }

  // The derivative along v, by two backward passes: u -> J^T u is linear, and its own transposed derivative is J.
  Tensor by_two_passes() const {
    Tape tape;
    std::vector<Tensor> at;
    for (const Tensor& one : x) at.push_back(Tape::variable(one));
    const Tensor y = (*this)(at), u = Tape::variable(zeros(y.shape(), y.dtype()));
    if (tape.position_of(y) < 0) return u.detach();
    const Gradients first = tape.backward(y, {.create_graph = true, .grad_output = u, .keep = {}, .only = at});
    Tensor product = sum(u * 0);
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (const Tensor* const dx = first.find(at[i])) product = product + sum(*dx * v[i]);
    }
    return *tape.backward(product, {.keep = {}, .only = {u}}).find(u);
  }

  // <u, J v> by one backward pass.
  double along(const Tensor& u) const {
    const auto gradients = vjp(*this, x, u).product;
    double sum_of_all = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum_of_all += sum((gradients[i] * v[i]).to(kFloat64)).item();
    return sum_of_all;
  }

  const OpSample* sample;
  std::vector<Tensor> all, x, v;
  std::vector<std::size_t> places;
};

double size_of(const Tensor& x) { return x.numel() == 0 ? 0 : amax(abs(x.to(kFloat64))).item(); }

// What is wrong with jvp of a sample; nothing if it is right.
std::string wrong_tangent(const FloatingFunction& f, bool twice, double tolerance) {
  const auto [y, tangent] = jvp(f, f.x, f.v);
  if (!(tangent.shape() == y.shape()) || tangent.dtype() != y.dtype())
    return fmt::format("tangent {} {} of {} {}", name(tangent.dtype()), str(tangent.shape()), name(y.dtype()),
                       str(y.shape()));
  if (y.tape_index().tape != 0 || tangent.tape_index().tape != 0) return "the results belong to a pass that has ended";
  if (!tests::same_bits(y, f(f.x))) return "another value";
  const Tensor u = without_pattern(y, 99);
  const double pushed = sum((u * tangent).to(kFloat64)).item(), pulled = f.along(u);
  const double size = (1 + size_of(tangent)) * std::sqrt(static_cast<double>(1 + y.numel()));
  if (!(std::abs(pushed - pulled) <= tolerance * size)) return fmt::format("{}, by backward {}", pushed, pulled);
  if (!twice) return "";
  const Tensor other = f.by_two_passes();
  const double difference = size_of(tangent - other);
  return difference <= tolerance * (1 + size_of(other)) ? "" : fmt::format("differs by {}", difference);
}

// One backward cuts its own graph; one has no digits in float32.
bool is_left_out(std::string_view op, std::string_view label) {
  return (op == "to" && label == "one conversion") || (op == "pinv" && label == "rank 1");
}

// Every sample of every operation, or of those that are differentiated once.
std::size_t count_right(DType dtype, double tolerance) {
  std::size_t right = 0;
  for (const OpSamples& of : op_samples()) {
    const Op* const op = find_op(of.op);
    for (const OpSample& sample : of.samples) {
      const FloatingFunction f(sample, dtype);
      if (f.x.empty() || is_left_out(of.op, sample.label)) continue;
      std::string text;
      const std::string error = error_of([&] { text = wrong_tangent(f, op->twice, of.op == "to" ? 1e-6 : tolerance); });
      if (error != "no error" && dtype == kFloat32 && error_of([&] { (void)f(f.x); }) != "no error")
        continue;  // of doubles
      EXPECT_EQ(error, "no error") << of.op << " " << sample.label;
      EXPECT_EQ(text, "") << of.op << ", sample \"" << sample.label << "\", " << name(dtype);
      right += error == "no error" && text.empty();
    }
  }
  return right;
}

TEST(ForwardMode, EqualsTwoBackwardPassesInFloat64) { EXPECT_GE(count_right(kFloat64, 1e-9), 1500U); }
TEST(ForwardMode, EqualsTwoBackwardPassesInFloat32) { EXPECT_GE(count_right(kFloat32, 2e-4), 1500U); }

// --- nesting ---

Tensor point_of(const Shape& shape, uint64_t seed = 5) { return without_pattern(Tensor::empty(shape, kFloat64), seed); }

TEST(ForwardMode, TangentsOfDifferentPassesStayApart) {
  // d/dx (x d/dy (x y)) = d/dx x^2: a pass that took the outer tangent for its own would find 3 x
  const Tensor x = tensor({1.5, -0.3}, kFloat64), one = ones_like(x);
  const auto slope = [&](const Tensor& at) {
    return at * jvp([&](const Tensor& y) { return at * y; }, at.detach(), one).product;
  };
  tests::expect_near(jvp(slope, x, one).product, 2 * x);
  tests::expect_near(grad([&](const Tensor& at) { return sum(slope(at)); })(x), 2 * x);
}

TEST(ForwardMode, GoesThroughOtherDerivativesAndThemThroughIt) {
  const Tensor x = point_of({4}), v = point_of({4}, 8), one = ones_like(x), w = point_of({4, 4}, 9);
  const auto f = [&](const Tensor& at) { return sum(softmax(matmul(w, at)) * cumprod(tanh(at) + 2, 0) * at); };
  const Tensor hv = hvp(f, x, v).product;
  const auto gradient = [&](const Tensor& at) { return grad(f)(at); };
  EXPECT_LT(tests::largest_difference(jvp(gradient, x, v).product, hv), 1e-13);  // forward over reverse
  const auto along = [&](const Tensor& at) { return jvp(f, at, v).product; };
  EXPECT_LT(tests::largest_difference(grad(along)(x), hv), 1e-13);  // reverse over forward
  const auto twice = jvp(along, x, v);                              // forward over forward
  EXPECT_NEAR(twice.product.item(), sum(hv * v).item(), 1e-13);
  EXPECT_NEAR(twice.value.item(), jvp(f, x, v).product.item(), 1e-15);
  const auto curvature = [&](const Tensor& at) { return sum(hvp(f, at, v).product * v); };
  const Tensor slope = grad(curvature)(x);
  const double third = sum(slope * v).item();
  const auto pushed = [&](const Tensor& at) { return sum(jvp(gradient, at, v).product * v); };
  EXPECT_LT(tests::largest_difference(grad(pushed)(x), slope), 1e-12);  // backward runs in an operation of backward
  EXPECT_NEAR(jvp(curvature, x, v).product.item(), third, 1e-12);
  EXPECT_NEAR(jvp([&](const Tensor& at) { return jvp(along, at, v).product; }, x, v).product.item(), third, 1e-12);
  EXPECT_NEAR(sum(jvp([&](const Tensor& at) { return hvp(f, at, v).product; }, x, v).product * v).item(), third, 1e-12);
  const Tensor rows = jvp([&](const Tensor& at) { return hessian(f, at); }, x, v).product;
  EXPECT_NEAR(sum(matmul(rows, v) * v).item(), third, 1e-12);
}

TEST(ForwardMode, IsRecordedOnATape) {
  const Tensor x = point_of({3}).as_leaf(), w = point_of({3}, 4).as_leaf(), v = point_of({3}, 8);
  const auto f = [&](const Tensor& at) { return sin(at * w) * w; };
  Tape tape;
  const auto [y, tangent] = jvp(f, x, v);  // w^2 cos(x w) v
  const Gradients gradients = tape.backward(sum(tangent) + sum(y), {.create_graph = true});
  const Tensor dx = w * w * cos(x * w) - w * w * w * sin(x * w) * v;
  EXPECT_LT(tests::largest_difference(gradients[x], dx), 1e-14);
  const Tensor dw = sin(x * w) + x * w * cos(x * w) + (2 * w * cos(x * w) - w * w * x * sin(x * w)) * v;
  EXPECT_LT(tests::largest_difference(gradients[w], dw), 1e-14);
  EXPECT_LT(tests::largest_difference(jvp([&](const Tensor& at) { return sum(f(at)); }, x, gradients[w]).product,
                                      sum(w * w * cos(x * w) * dw)),
            1e-13);
}

TEST(ForwardMode, ATapeInTheFunctionIsAConstant) {
  const auto slope = [](const Tensor& at) {
    Tape tape(OuterTensors::constants);
    const Tensor y = Tape::variable(at);
    return tape.backward(sum(y * y * y), {.keep = {y}}).find(y)->detach() + 0;
  };
  EXPECT_EQ(size_of(jvp(slope, point_of({3}), point_of({3}, 8)).product), 0);
}

// --- what is kept ---

TEST(ForwardMode, KeepsNothingOfAChain) {
  const Tensor x = full({256, 1024}, 0.5), v = ones({256, 1024});  // 1 MB each
  const auto chain = [](const Tensor& at) {
    Tensor y = at;
    for (int i = 0; i < 100; ++i) y = sin(y * 1.01 + 0.1);
    return y;
  };
  const auto peak = [](const auto& run) {
    const int64_t before = (pool::reset_peak(), pool::peak());
    run();
    return pool::peak() - before;
  };
  const int64_t forward = peak([&] { (void)chain(x); });
  EXPECT_LE(peak([&] { EXPECT_TRUE(jvp(chain, x, v).product.defined()); }), 3 * forward);
}

// A tangent by a backward on the enclosing tape takes no memory, and so no time, for what that has recorded before.
TEST(ForwardMode, CostsTheSameOnALongTape) {
  const Tape tape;
  const Tensor x = Tape::variable(full({1}, 0.5));
  Tensor y = x;
  for (int i = 0; i < 20000; ++i) y = y + 1;
  const int64_t before = (pool::reset_peak(), pool::peak());
  const Tensor product = jvp([](const Tensor& at) { return at * at * cumsum(at, 0); }, x, ones({1})).product;
  EXPECT_LE(pool::peak() - before, 64 << 10);
  EXPECT_EQ(product.item<float>(), 0.75F);
}

TEST(ForwardMode, TangentsDieWithTheirTensorsOnAnyThread) {
  const Tensor x = full({256, 1024}, 0.5);
  int64_t most = 0;
  const auto f = [&](const Tensor& at) {
    for (int i = 0; i < 20; ++i) {
      std::vector<Tensor> some{exp(at), sin(at)};
      std::thread([dead = std::move(some)]() mutable { dead.clear(); }).join();
      if (i == 0) pool::reset_peak(), most = pool::peak();
    }
    return at;
  };
  EXPECT_TRUE(tests::same_bits(jvp(f, x, x).product, x));
  EXPECT_LE(pool::peak() - most, 8 << 20);
}

// --- control ---

TEST(ForwardMode, RunsWhatIsComputedAgainInBackwardAsItIs) {
  const Tensor x = point_of({2, 3}), v = point_of({2, 3}, 8);
  const auto part = [](const Tensor& at) { return tanh(at) * at; };
  const auto with = [&](const Tensor& at) { return nn::recompute(at, part); };
  EXPECT_TRUE(tests::same_bits(jvp(with, x, v).product, jvp(part, x, v).product));
  const Tape tape;
  EXPECT_ERROR(jvp(with, x.as_leaf(), v));
}

TEST(ForwardMode, FusedAttentionHasATangentButNotOnATape) {
  const Tensor x = point_of({1, 2, 70, 4}), v = point_of({1, 2, 70, 4}, 8);
  const auto of = [](const auto& attention) {
    return [&attention](const Tensor& at) { return attention(at, at * 2, at * at); };
  };
  const auto flex = [](const Tensor& q, const Tensor& k, const Tensor& values) {
    return flex_attention(q, k, values, {.mask_mod = [](auto, auto, int64_t t, int64_t s) { return t >= s; }});
  };
  const auto plain = [](const Tensor& q, const Tensor& k, const Tensor& values) {
    return scaled_dot_product_attention(q, k, values, {.causal = true});
  };
  EXPECT_LT(tests::largest_difference(jvp(of(flex), x, v).product, jvp(of(plain), x, v).product), 1e-13);
  const auto window = [](const Tensor& q, const Tensor& k, const Tensor& values) {
    return sliding_window_attention(q, k, values, {.window = 70, .causal = true});
  };
  const Tensor hidden = cat({x.slice(2, 0, 69), full({1, 2, 1, 4}, NAN, kFloat64)}, 2);
  const Tensor of_x = jvp(of(flex), x, v).product.slice(2, 0, 69);
  for (const Tensor& y : {jvp(of(flex), hidden, v).product, jvp(of(plain), hidden, v).product}) {
    EXPECT_LT(tests::largest_difference(y.slice(2, 0, 69), of_x), 1e-13);
    EXPECT_TRUE(std::isnan(y.select(2, 69).sum().item()));
  }
  EXPECT_LT(tests::largest_difference(jvp(of(window), hidden, v).product.slice(2, 0, 69), of_x), 1e-13);
  const Tape tape;
  EXPECT_ERROR(jvp(of(flex), x.as_leaf(), v));
}

TEST(ForwardMode, HooksAreForGradients) {
  const Tensor x = point_of({3}), v = point_of({3}, 8);
  const auto f = [](const Tensor& at) { return sin(on_grad(at, [](const Tensor& dy) { return dy / norm(dy); })); };
  EXPECT_LT(tests::largest_difference(jvp(f, x, v).product, cos(x) * v), 1e-15);
}

// A backward on a tape outside of the jvp would lose tangents, unless it is recorded itself.
TEST(ForwardMode, ABackwardOnAnEnclosingTape) {
  const Tensor x = point_of({3}), v = point_of({3}, 8);
  Tape tape;
  const auto slope = [&](bool recorded) {
    return [&tape, recorded](const Tensor& at) {
      const Tensor loss = sum(at * at * at + sin(at));
      return *tape.backward(loss, {.create_graph = recorded, .keep = {at}}).find(at);
    };
  };
  EXPECT_ERROR(jvp(slope(false), x, v));
  const Tensor found = jvp(slope(true), x, v).product;
  EXPECT_LT(tests::largest_difference(found, (6 * x - sin(x)) * v), 1e-14);
}

TEST(ForwardMode, ATapeThatSaysSoTakesPartAndIsTheOnlyOne) {
  const Tensor x = point_of({3}), v = point_of({3}, 8);
  const auto f = [](const Tensor& at) {
    Tape tape(OuterTensors::tangents);
    const Tensor y = Tape::variable(at);
    return *tape.backward(sum(y * y * y), {.keep = {y}}).find(y);
  };
  const auto found = jvp(f, x, v);
  EXPECT_LT(tests::largest_difference(found.product, 6 * x * v), 1e-15);
  const Tape other;
  static_cast<void>(x.as_leaf() * found.value);  // the value belongs to no tape that has ended
  EXPECT_ERROR(jvp(f, x, v));
}

TEST(ForwardMode, GradientsPerExampleHaveNoTangents) {
  const Tensor x = point_of({3, 2}), v = point_of({3, 2}, 8);
  const auto f = [](const Tensor& at) {
    Tape tape(OuterTensors::tangents);
    const Tensor w = ones({2}, kFloat64).as_leaf();
    return *tape.backward(sum(at * w * w, 1), {.per_example = true}).find(w);
  };
  EXPECT_ERROR(jvp(f, x, v));
}

const RuledOp kForgetful{"forgetful"};
const Op kCount{"count_of"};

TEST(ForwardMode, RulesOfYourOwnAreChecked) {
  const Tensor x = point_of({3}), v = point_of({3}, 8);
  const auto forgetful = [](const Tensor& at) {
    return custom(
        kForgetful, {at}, [](const Tensor& y) { return sum(y); },
        [at](const Tensor& dy) -> Grads { return dy.expand(at.shape()); });
  };
  EXPECT_ERROR(jvp(forgetful, x, v));
  const auto count = [](const Tensor& at) {  // an integer has no tangent
    const Tensor n = record(kCount, scalar(3, kInt64), {at}, [](const Tensor&) -> Grads { return Tensor(); });
    return at * n.to(kFloat64);
  };
  EXPECT_LT(tests::largest_difference(jvp(count, x, v).product, 3 * v), 1e-15);
}

TEST(ForwardMode, VariablesHaveTheTangentOfWhatTheyAreMadeOf) {
  const Tensor x = point_of({3}), v = point_of({3}, 8);
  EXPECT_TRUE(tests::same_bits(jvp([](const Tensor& at) { return Tape::variable(at); }, x, v).product, v));
}

TEST(ForwardMode, Errors) {
  const Tensor x = point_of({3}), v = point_of({3}, 8);
  EXPECT_ERROR(jvp([](const Tensor& at) { return Tape::current()->backward(sum(at))[at]; }, x, v));
  Tensor escaped;
  (void)jvp([&](const Tensor& at) { return escaped = at * 2; }, x, v);
  const Tape tape;
  EXPECT_ERROR((x.as_leaf() * escaped));
}

}  // namespace
}  // namespace tapegrad::tasks
