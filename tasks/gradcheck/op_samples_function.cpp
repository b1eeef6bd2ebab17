// Samples of circular and hyperbolic functions, roundings, remainders and activations.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/gradcheck/op_samples.h>

namespace tapegrad::tasks {
namespace {

using Function = Tensor (*)(const Tensor&);

void add_named_functions(SampleTable& table) {
  const auto unary = [&](std::string_view op, Function f, double low = -2, double high = 2) {
    add_unary(table, op, f, low, high);
  };
  unary("exp2", exp2);
  unary("log2", log2, 0.4, 3);
  unary("log10", log10, 0.4, 3);
  unary("square", square);
  unary("reciprocal", reciprocal, 0.5, 2);
  unary("tan", tan, -1.1, 1.1);
  unary("asin", asin, -0.8, 0.8);
  unary("acos", acos, -0.8, 0.8);
  unary("atan", atan, -3, 3);
  unary("sinh", sinh);
  unary("cosh", cosh, 0.2, 2.5);
  unary("asinh", asinh, -3, 3);
  unary("acosh", acosh, 1.4, 3);
  unary("atanh", atanh, -0.8, 0.8);
  table.add("reciprocal", "negative", {spread({5}, -2, -0.5)}, [](auto x) { return reciprocal(x[0]); });
  table.add("cosh", "negative", {spread({5}, -2, -0.5)}, [](auto x) { return cosh(x[0]); });
  table.add("tan", "beyond a pole", {spread({5}, 1.9, 4)}, [](auto x) { return tan(x[0]); });
  for (const auto& [op, f] : {std::pair<const char*, Function>{"floor", floor}, {"ceil", ceil}, {"trunc", trunc}}) {
    add_unary(table, op, f, 1.02, 1.9, {.zero_gradient = true});
  }
  add_unary(table, "round", [](const Tensor& x) { return round(x); }, -0.45, 0.45, {.zero_gradient = true});
  add_unary(table, "nan_to_num", [](const Tensor& x) { return nan_to_num(x); });
}

void add_of_two(SampleTable& table) {
  add_binary(
      table, "atan2", [](const Tensor& y, const Tensor& x) { return atan2(y, x); }, 0.4, 2);
  table.add("atan2", "left half", {spread({2, 3}), spread({3}, -2, -0.5)}, [](auto x) { return atan2(x[0], x[1]); });
  // Integer quotients of 1 or -2, so that no finite difference crosses a step.
  add_binary(table, "fmod", [](const Tensor& a, const Tensor& b) { return fmod(a * 0.2 + 5, b * 0.1 + 3); });
  add_binary(table, "remainder", [](const Tensor& a, const Tensor& b) { return remainder(a * 0.2 + 5, b * 0.1 - 3); });
  add_unary(
      table, "fmod", [](const Tensor& x) { return fmod(x, -1.5); }, -2.8, -1.7);
  add_unary(
      table, "remainder", [](const Tensor& x) { return remainder(x, 1.5); }, -2.8, -1.7);
  add_binary(table, "lerp", [](const Tensor& a, const Tensor& b) { return lerp(a, b, 0.3); });
  add_binary(table, "lerp", [](const Tensor& a, const Tensor& weight) { return lerp(a, a * a, weight); });
  const Shape triples[][3] = {{{2, 3}, {2, 3}, {2, 3}}, {{2, 1}, {3}, {2, 3}}, {{3}, {2, 3}, {}},
                              {{2, 3}, {}, {1, 3}},     {{}, {}, {4}},         {{0}, {1}, {}},
                              {{2, 0}, {2, 1}, {0}}};
  for (const auto& [a, b, w] : triples) {
    table.add("lerp", str(a) + ", " + str(b) + ", " + str(w), {spread(a), spread(b, -1, 3), spread(w, -0.3, 1.3)},
              [](auto x) { return lerp(x[0], x[1], x[2]); });
  }
}

void add_activations(SampleTable& table) {
  add_unary(table, "log_sigmoid", log_sigmoid, -4, 4);
  for (double beta : {1.0, 0.5, 3.0}) {
    add_unary(
        table, "softplus", [beta](const Tensor& x) { return softplus(x, beta); }, -3, 3);
  }
  table.add("softplus", "linear", {spread({5}, 21, 30)}, [](auto x) { return softplus(x[0]) * x[0]; });
  add_unary(table, "mish", mish, -4, 4);
  table.add("mish", "large", {spread({5}, 21, 30)}, [](auto x) { return mish(x[0]) * x[0]; });
  add_unary(
      table, "leaky_relu", [](const Tensor& x) { return leaky_relu(x, 0.1); }, -1, 2);
  table.add("leaky_relu", "negative", {spread({5}, -2, -0.5)}, [](auto x) { return leaky_relu(x[0]); });
  add_unary(
      table, "elu", [](const Tensor& x) { return elu(x, 0.7); }, -1, 2);
  add_unary(
      table, "selu", [](const Tensor& x) { return selu(x); }, -1, 2);
  add_unary(table, "hardtanh", [](const Tensor& x) { return hardtanh(x, -1.9, 1.7); });
  add_unary(
      table, "hardtanh", [](const Tensor& x) { return relu6(x * 2.9); }, -1, 2);
  add_unary(
      table, "hardsigmoid", [](const Tensor& x) { return hardsigmoid(x); }, -2.8, 2.8);
  add_unary(
      table, "hardswish", [](const Tensor& x) { return hardswish(x); }, -2.8, 2.8);
  table.add("hardswish", "beyond 3", {spread({5}, 3.2, 5)}, [](auto x) { return hardswish(x[0]) * x[0]; });
  table.add("hardsigmoid", "beyond -3", {spread({5}, -5, -3.2)}, [](auto x) { return hardsigmoid(x[0]); },
            {.zero_gradient = true});
  add_unary(
      table, "softsign", [](const Tensor& x) { return softsign(x); }, -1, 2);
}

void add_gates(SampleTable& table) {
  const auto prelu_of = [](auto x) { return prelu(x[0], x[1]); };
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{2, 3, 4}, Shape{0, 3}, Shape{2, 0}}) {
    table.add("prelu", str(shape) + ", one weight", {spread(shape, -2, 1.9), spread({1}, 0.1, 0.4)}, prelu_of);
  }
  for (const Shape& shape : {Shape{2, 3}, Shape{2, 3, 4}, Shape{2, 3, 2, 2}, Shape{0, 3}}) {
    table.add("prelu", str(shape) + ", per channel", {spread(shape, -1, 2), spread({3}, 0.1, 0.4)}, prelu_of);
  }
  for (const LaidOut& laid : layouts(3, 4, -1, 2)) {
    table.add("prelu", laid.label, {laid.x, spread({4}, 0.1, 0.4)}, prelu_of);
  }
  for (const auto& [op, f] :
       {std::pair<const char*, Tensor (*)(const Tensor&, int64_t)>{"glu", glu}, {"swiglu", swiglu}}) {
    const auto along = [&table, op = op, f = f](const std::string& label, const Tensor& x, int64_t axis) {
      table.add(op, label + " along " + std::to_string(axis), {x}, [f, axis](auto v) { return f(v[0], axis); });
    };
    for (const Shape& shape : {Shape{2}, Shape{6}, Shape{0}, Shape{3, 8}, Shape{2, 3, 4}, Shape{0, 4}, Shape{38}}) {
      along(str(shape), spread(shape, -3, 3), -1);
    }
    along("[4, 3]", spread({4, 3}), 0);
    along("[2, 6, 3]", spread({2, 6, 3}), 1);
    along("[2, 6, 0]", spread({2, 6, 0}), 1);
    for (const LaidOut& laid : layouts(4, 6, -3, 3)) along(laid.label, laid.x, 1), along(laid.label, laid.x, 0);
    along("expanded", spread({3, 1}).expand({3, 4}), -1);
  }
}

}  // namespace

void add_function_samples(SampleTable& table) {
  add_named_functions(table);
  add_of_two(table);
  add_activations(table);
  add_gates(table);
}

}  // namespace tapegrad::tasks
