// Samples of elementwise operations and of selection.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/gradcheck/op_samples.h>

namespace tapegrad::tasks {
namespace {

void add_arithmetic(SampleTable& table) {
  const auto binary = [&](std::string_view op, auto f, double low = -2, double high = 2) {
    add_binary(
        table, op, [f](const Tensor& a, const Tensor& b) { return f(a, b); }, low, high);
  };
  const auto unary = [&](std::string_view op, auto f, double low = -2, double high = 2, GradcheckOptions options = {}) {
    add_unary(
        table, op, [f](const Tensor& x) { return f(x); }, low, high, options);
  };
  binary("add", [](auto& a, auto& b) { return add(a, b); });
  binary("sub", [](auto& a, auto& b) { return sub(a, b); });
  binary("mul", [](auto& a, auto& b) { return mul(a, b); });
  binary(
      "div", [](auto& a, auto& b) { return div(a, b); }, 0.4, 2);
  binary(
      "pow", [](auto& a, auto& b) { return pow(a, b); }, 0.3, 2.2);
  add_binary(
      table, "maximum", [](const Tensor& a, const Tensor& b) { return maximum(a, b); }, -2, 2, 2);
  add_binary(
      table, "minimum", [](const Tensor& a, const Tensor& b) { return minimum(a, b); }, -2, 2, 2);
  table.add("mul", "a tensor by itself", {spread({2, 3})}, [](auto x) { return mul(x[0], x[0]); });
  table.add("div", "negative divisor", {spread({2, 3}), spread({3}, -2, -0.5)}, [](auto x) { return div(x[0], x[1]); });
  table.add("pow", "negative base, whole exponents", {spread({4}, -2, -0.5)}, [](auto x) {
    return pow(x[0], tensor({2.0, 3.0, -1.0, -2.0}, kFloat64));
  });

  unary("add", [](auto& x) { return add(x, 0.7); });
  unary("sub", [](auto& x) { return sub(x, 0.7); });
  unary("sub", [](auto& x) { return sub(0.7, x); });
  unary("mul", [](auto& x) { return mul(x, -1.3); });
  unary("div", [](auto& x) { return div(x, -1.3); });
  unary(
      "div", [](auto& x) { return div(1.7, x); }, 0.5, 2);
  unary("neg", [](auto& x) { return neg(x); });
  unary("maximum", [](auto& x) { return maximum(x, -1.9); });
  unary("minimum", [](auto& x) { return minimum(x, 1.9); });
  for (double exponent : {2.0, 3.0, 0.5, -0.5, -1.0, 2.7}) {
    unary(
        "pow", [exponent](auto& x) { return pow(x, exponent); }, 0.4, 2.2);
  }
  table.add("pow", "exponent 0", {spread({3}, 0.4, 2)}, [](auto x) { return pow(x[0], 0.0); }, {.zero_gradient = true});
  table.add("pow", "negative base", {spread({5}, -2, -0.4)}, [](auto x) { return pow(x[0], 3.0); });
  unary("clamp", [](auto& x) { return clamp(x, -1.9, 1.7); });
  unary("clamp", [](auto& x) { return clamp(x, -1.9, {}); });
  unary("clamp", [](auto& x) { return clamp(x, {}, 1.9); });
}

void add_elementwise_functions(SampleTable& table) {
  const auto unary = [&](std::string_view op, auto f, double low = -2, double high = 2, GradcheckOptions options = {}) {
    add_unary(
        table, op, [f](const Tensor& x) { return f(x); }, low, high, options);
  };
  unary("exp", [](auto& x) { return exp(x); });
  unary("expm1", [](auto& x) { return expm1(x); });
  unary(
      "log", [](auto& x) { return log(x); }, 0.4, 3);
  unary(
      "log1p", [](auto& x) { return log1p(x); }, -0.6, 2);
  unary(
      "sqrt", [](auto& x) { return sqrt(x); }, 0.4, 3);
  unary(
      "rsqrt", [](auto& x) { return rsqrt(x); }, 0.4, 3);
  unary("abs", [](auto& x) { return abs(x); });
  unary("sign", [](auto& x) { return sign(x); }, -2, 2, {.zero_gradient = true});
  unary(
      "sin", [](auto& x) { return sin(x); }, -4, 4);
  unary(
      "cos", [](auto& x) { return cos(x); }, -4, 4);
  unary(
      "tanh", [](auto& x) { return tanh(x); }, -3, 3);
  unary("erf", [](auto& x) { return erf(x); });
  unary(
      "sigmoid", [](auto& x) { return sigmoid(x); }, -5, 5);
  unary(
      "relu", [](auto& x) { return relu(x); }, -1, 2);
  unary(
      "silu", [](auto& x) { return silu(x); }, -4, 4);
  unary(
      "gelu", [](auto& x) { return gelu(x); }, -3, 3);
  unary(
      "gelu", [](auto& x) { return gelu(x, Gelu::tanh); }, -3, 3);
  table.add("exp", "wide", {spread({41}, -30, 5)}, [](auto x) { return exp(x[0]); });
  table.add("log", "small", {spread({9}, 0.02, 0.1)}, [](auto x) { return log(x[0]); }, {.step = 0x1p-14});
  table.add("tanh", "wide", {spread({41}, -12, 12)}, [](auto x) { return tanh(x[0]); });
  table.add("sigmoid", "wide", {spread({41}, -30, 30)}, [](auto x) { return sigmoid(x[0]); });
  table.add("erf", "wide", {spread({41}, -6, 6)}, [](auto x) { return erf(x[0]); });
  table.add("relu", "all negative", {spread({5}, -2, -0.5)}, [](auto x) { return relu(x[0]); },
            {.zero_gradient = true});
}

void add_selection(SampleTable& table) {
  const auto choose = [](std::span<const Tensor> x) { return where(x[0], x[1], x[2]); };
  const Shape triples[][3] = {{{2, 3}, {2, 3}, {2, 3}}, {{2, 1}, {3}, {2, 3}}, {{3}, {2, 3}, {}},
                              {{2, 3}, {}, {1, 3}},     {{1, 3}, {2, 1}, {3}}, {{0}, {1}, {}},
                              {{2, 0}, {2, 1}, {0}},    {{4}, {3, 1}, {4}}};
  for (const auto& [c, a, b] : triples) {
    table.add("where", str(c) + ", " + str(a) + ", " + str(b), {some_bools(c), spread(a), spread(b)}, choose);
  }
  for (const LaidOut& a : layouts(3, 4)) {
    for (const LaidOut& b : layouts(3, 4)) {
      table.add("where", a.label + ", " + b.label, {some_bools({4, 3}).t(), a.x, b.x}, choose);
    }
    table.add("where", a.label + ", number", {some_bools({3, 4}), a.x}, [](auto x) { return where(x[0], x[1], 0.5); });
    table.add("where", "number, " + a.label, {some_bools({4}), a.x}, [](auto x) { return where(x[0], 0.5, x[1]); });
    table.add("masked_fill", a.label, {a.x, some_bools({3, 4})}, [](auto x) { return masked_fill(x[0], x[1], -1.0); });
    table.add("masked_fill", a.label + ", column", {a.x, some_bools({3, 1})},
              [](auto x) { return masked_fill(x[0], x[1], -1.0); });
  }
  table.add("masked_fill", "mask [3], x [2, 3]", {spread({2, 3}), some_bools({3})},
            [](auto x) { return masked_fill(x[0], x[1], 0.0); });
  table.add("masked_fill", "[0, 3]", {spread({0, 3}), some_bools({3})},
            [](auto x) { return masked_fill(x[0], x[1], 0.0); });
  table.add("masked_fill", "everything", {spread({2, 3}), ones({2, 3}, kBool)},
            [](auto x) { return masked_fill(x[0], x[1], 0.0); }, {.zero_gradient = true});
  for (int64_t diagonal : {0, 1, -1}) {
    for (const Shape& shape : {Shape{3, 3}, Shape{2, 4}, Shape{4, 2}, Shape{2, 3, 3}, Shape{0, 3}}) {
      const std::string label = str(shape) + " from " + std::to_string(diagonal);
      table.add("tril", label, {spread(shape)}, [diagonal](auto x) { return tril(x[0], diagonal); });
      table.add("triu", label, {spread(shape)}, [diagonal](auto x) { return triu(x[0], diagonal); });
    }
  }
  for (const LaidOut& laid : layouts(3, 4)) {
    table.add("tril", laid.label, {laid.x}, [](auto x) { return tril(x[0]); });
    table.add("triu", laid.label, {laid.x}, [](auto x) { return triu(x[0]); });
  }
  table.add("tril", "expanded", {spread({3, 1}).expand({3, 3})}, [](auto x) { return tril(x[0]); });
  table.add("triu", "nothing is left", {spread({2, 2})}, [](auto x) { return triu(x[0], 2); }, {.zero_gradient = true});
}

}  // namespace

void add_elementwise_samples(SampleTable& table) {
  add_arithmetic(table);
  add_elementwise_functions(table);
  add_selection(table);
}

}  // namespace tapegrad::tasks
