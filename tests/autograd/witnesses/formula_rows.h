// The elementwise operations with the formulas of their values on dual numbers, and the points where both are computed.
// Included by one test, which then has the tables of formulas in a form of its own (dual.h).
#pragma once

#include <tapegrad/tests/autograd/witnesses/dual.h>
// After it: these are compiled for dual numbers.
#include <tapegrad/autograd/ops/elementwise/arithmetic.cpp>
#undef HWY_TARGET_INCLUDE
#include <tapegrad/autograd/ops/elementwise/elementwise.cpp>
#undef HWY_TARGET_INCLUDE
#include <tapegrad/autograd/ops/elementwise/gate.cpp>
#undef HWY_TARGET_INCLUDE
#include <tapegrad/autograd/ops/elementwise/quotients.cpp>
#undef HWY_TARGET_INCLUDE
#include <tapegrad/autograd/ops/loss/loss.cpp>
#undef HWY_TARGET_INCLUDE

#include <gtest/gtest.h>
#include <tapegrad/autograd/special.h>
#include <tapegrad/checks/cases/case.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tapegrad::tests {
namespace {

using Points = std::vector<double>;
using Call = std::function<Tensor(std::span<const Tensor>)>;

const Points kOrdinary = {-1e30, -1e3, -100, -20, -3, -1, -0.3, -1e-8, -1e-30,
                          1e-30, 1e-8, 0.3,  1,   3,  20, 100,  1e3,   1e30};
// None of them is one of kOrdinary: no ties.
const Points kOthers = {-0.75e30, -750,    -75,   -15,  -2.25, -0.75, -0.225, -0.75e-8, -0.75e-30,
                        0.75e-30, 0.75e-8, 0.225, 0.75, 2.25,  15,    75,     750,      0.75e30};

// Of the derivatives of an order (0: the value) at a point.
using At = std::span<const double>;
using Size = std::function<double(At x, int order)>;

// An operation, the formula of its value, and where both are computed.
struct Row {
  std::string name;
  const Formula* value;
  Call f;
  std::vector<Points> points = {kOrdinary};  // of each operand; all combinations
  Points numbers = {};                       // that the formula takes after them
  // A few units in the last place of this number, too, are allowed at a point: where terms of this size cancel.
  Size size = {};
  double more = 1;  // times as many units
};

// Of functions whose derivatives are at most about this large, and lose digits where they are small.
Size always(double size) {
  return [size](At, int) { return size; };
}

// The same for second derivatives alone.
Size second(double size) {
  return [size](At, int order) { return order == 2 ? size : 0; };
}

Call of_one(auto f) {
  return [f](std::span<const Tensor> x) { return f(x[0]); };
}
Call of_two(auto f) {
  return [f](std::span<const Tensor> x) { return f(x[0], x[1]); };
}
Call of_three(auto f) {
  return [f](std::span<const Tensor> x) { return f(x[0], x[1], x[2]); };
}

using T = const Tensor&;
const std::vector<Points> kPairs = {kOrdinary, kOthers};
const Points kFew = {-1e30, -20, -0.3, -1e-8, 1e-30, 0.3, 1, 100},
             kFewOthers = {-0.75e30, -15, -0.75e-8, 0.225, 2.25, 750};

std::vector<Row> arithmetic_rows() {
  const auto& f = N_DUAL::arithmetic_formulas();
  const std::vector<Points> triples = {kFew, kFewOthers, {-2, -1e-8, 0.2, 0.7, 1, 30}};
  const Points exponents = {-750, -3, -2, -1, -0.225, -1e-8, 1e-30, 0.225, 1, 2, 2.25, 3, 4, 75, 751, 1e30};
  const auto& quotients = N_DUAL::quotient_formulas();
  return {
      {"add", &f.add, of_two([](T a, T b) { return a + b; }), kPairs},
      {"sub", &f.sub, of_two([](T a, T b) { return a - b; }), kPairs},
      {"mul", &f.mul, of_two([](T a, T b) { return a * b; }), kPairs},
      {"div", &f.div, of_two([](T a, T b) { return a / b; }), kPairs},
      // b - 1 is rounded, which log(a) magnifies
      {"pow", &f.pow, of_two([](T a, T b) { return pow(a, b); }), {kOrdinary, exponents}, {}, {}, 8},

      {"maximum", &f.maximum, of_two([](T a, T b) { return maximum(a, b); }), kPairs},
      {"minimum", &f.minimum, of_two([](T a, T b) { return minimum(a, b); }), kPairs},
      {"neg", &f.neg, of_one([](T x) { return -x; })},
      {"add a number", &f.add_scalar, of_one([](T x) { return x + 0.7; }), {kOrdinary}, {0.7}},
      {"sub a number", &f.add_scalar, of_one([](T x) { return x - 0.7; }), {kOrdinary}, {-0.7}},
      {"mul a number", &f.mul_scalar, of_one([](T x) { return x * -1.7; }), {kOrdinary}, {-1.7}},
      {"div by a number", &f.div_scalar, of_one([](T x) { return x / -1.7; }), {kOrdinary}, {-1.7}},
      {"sub from a number", &f.rsub_scalar, of_one([](T x) { return 0.7 - x; }), {kOrdinary}, {0.7}},
      {"maximum with a number", &f.maximum_scalar, of_one([](T x) { return maximum(x, 0.7); }), {kOrdinary}, {0.7}},
      {"minimum with a number", &f.minimum_scalar, of_one([](T x) { return minimum(x, 0.7); }), {kOrdinary}, {0.7}},
      {"fmod", &f.fmod, of_two([](T a, T b) { return fmod(a, b); }), kPairs},
      {"remainder", &f.remainder, of_two([](T a, T b) { return remainder(a, b); }), kPairs},
      {"fmod by a number", &f.fmod_scalar, of_one([](T x) { return fmod(x, 0.7); }), {kOrdinary}, {0.7}},
      {"remainder by -0.7", &f.remainder_scalar, of_one([](T x) { return remainder(x, -0.7); }), {kOrdinary}, {-0.7}},
      {"atan2", &f.atan2, of_two([](T y, T x) { return atan2(y, x); }), kPairs},
      {"lerp", &f.lerp, of_three([](T a, T b, T w) { return lerp(a, b, w); }), triples},
      {"lerp by a number", &f.lerp_scalar, of_two([](T a, T b) { return lerp(a, b, 0.3); }), kPairs, {0.3}},
      {"a number divided", &f.rdiv_scalar.value, of_one([](T x) { return -1.7 / x; }), {kOrdinary}, {-1.7}},
      {"clamp", &f.clamp.value, of_one([](T x) { return clamp(x, -1.9, 1.7); }), {kOrdinary}, {-1.9, 1.7}},
      {"pow 2.5", &f.power.value, of_one([](T x) { return pow(x, 2.5); }), {kOrdinary}, {2.5}},
      {"pow -3", &f.power.value, of_one([](T x) { return pow(x, -3); }), {kOrdinary}, {-3}},
      {"pow 2", &f.square.value, of_one([](T x) { return pow(x, 2); })},
      {"pow 3", &f.cube.value, of_one([](T x) { return pow(x, 3); })},
      {"pow 0.5", &f.sqrt.value, of_one([](T x) { return pow(x, 0.5); })},
      {"pow -1", &f.reciprocal.value, of_one([](T x) { return pow(x, -1); })},
      {"pow -0.5", &f.rsqrt.value, of_one([](T x) { return pow(x, -0.5); })},
      {"div, floor", &quotients.floored, of_two([](T a, T b) { return div(a, b, Rounding::floor); }), kPairs},
      {"div, trunc", &quotients.truncated, of_two([](T a, T b) { return div(a, b, Rounding::trunc); }), kPairs},
  };
}

// The formula of a gated unit.
Formula formula_of(const GateKernels& gate) {
  double row[3] = {};
  gate.forward({.dtype = kFloat64, .half = 1, .x = row, .dy = nullptr, .y = row + 2}, 0, 1);
  return N_DUAL::last_mapped;
}

std::vector<Row> gate_rows() {
  const GateFormulas& f = N_DUAL::gate_formulas();
  static const Formula kGlu = formula_of(f.glu), kSwiglu = formula_of(f.swiglu);
  const auto halves = [](auto gate) {
    return of_two([gate](T a, T b) { return gate(stack({a, b}, 0), 0).squeeze(0); });
  };
  const Size of_glu = [](At x, int) { return std::max(1., std::abs(x[0])); };
  const Size of_swiglu = [](At x, int order) { return order == 0 ? 0 : std::max(1., std::abs(x[1])); };
  return {
      {"prelu", &f.prelu, of_two([](T x, T w) { return prelu(x.unsqueeze(0), w).squeeze(0); }), kPairs},
      {"glu", &kGlu, halves([](T x, int64_t axis) { return glu(x, axis); }), kPairs, {}, of_glu},
      {"swiglu", &kSwiglu, halves([](T x, int64_t axis) { return swiglu(x, axis); }), kPairs, {}, of_swiglu},
  };
}

constexpr Reduction kEach = Reduction::none;

std::vector<Row> loss_rows() {
  const LossFormulas& f = N_DUAL::loss_formulas();
  const Points probabilities = {1e-11, 1e-8, 0.3, 0.75, 1 - 0x1p-20}, targets = {-2, 1e-30, 0.2, 0.9, 1.5};
  const Points logits = {-1e3, -20, -3, -0.3, -1e-8, 1e-30, 0.3, 1, 20, 100};
  const std::vector<Points> weighted = {logits, {-1.1, 1e-30, 0.2, 1.5}, {1e-8, 0.7, 2.5, 1e3}};
  const std::vector<Points> triples = {kFew, kFewOthers, {1e-5, 0.3, 1, 3, 20, 1e3, 1e30}};
  const auto gaussian = [](T x, T t, T v) { return gaussian_nll_loss(x, t, v, kEach); };
  const auto kl_div_of_logs = [](T x, T t) { return kl_div(x, t, {.reduction = kEach, .log_target = true}); };
  const Size of_logs = [](At x, int) {  // exp(-750) is 0
    return std::max(1e-290, std::exp(x[1])) * (1 + std::abs(x[0]) + std::abs(x[1]));
  };
  const auto huber = [](T x, T t) { return huber_loss(x, t, {.reduction = kEach, .delta = 0.8}); };
  const auto smooth = [](T x, T t) { return smooth_l1_loss(x, t, {.reduction = kEach, .beta = 0.6}); };
  const auto binary = [](T p, T t) { return binary_cross_entropy(p, t, kEach); };
  const Size of_binary = [](At x, int order) { return order < 2 ? 0 : (1 + std::abs(x[1])) / x[0]; };
  const auto of_logits = [](T x, T t) { return binary_cross_entropy_with_logits(x, t, kEach); };
  const auto weighted_bce = [](T x, T t, T w) {
    return binary_cross_entropy_with_logits(x, t, {.reduction = kEach, .pos_weight = w});
  };
  const Size of_weighted = [](At x, int order) {
    return (order < 2 ? std::abs(x[0]) : 0) + (1 + std::abs(x[1])) * (1 + x[2]);
  };
  const Size of_gaussian = [](At x, int order) {
    const double d = std::abs(x[0] - x[1]) / x[2];
    return order == 0 ? 0 : order == 1 ? 1 / x[2] + d * d : (1 / x[2] + d * d) / x[2];
  };
  return {
      {"kl_div", &f.kl_div.value, of_two([](T x, T t) { return kl_div(x, t, kEach); }), kPairs},
      {"kl_div of logs", &f.kl_div_of_logs.value, of_two(kl_div_of_logs), kPairs, {}, of_logs},
      {"mse_loss", &f.mse.value, of_two([](T x, T t) { return mse_loss(x, t, kEach); }), kPairs},
      {"l1_loss", &f.l1.value, of_two([](T x, T t) { return l1_loss(x, t, kEach); }), kPairs},
      {"huber_loss", &f.huber.value, of_two(huber), kPairs, {0.8}},
      {"smooth_l1_loss", &f.smooth_l1.value, of_two(smooth), kPairs, {0.6}},
      {"binary_cross_entropy", &f.binary.value, of_two(binary), {probabilities, targets}, {}, of_binary},
      {"bce_with_logits", &f.binary_of_logits.value, of_two(of_logits), kPairs, {}, always(1)},
      {"bce_with_logits, weighted",
       &f.binary_of_logits_weighted.value,
       of_three(weighted_bce),
       weighted,
       {},
       of_weighted},
      {"gaussian_nll_loss", &f.gaussian.value, of_three(gaussian), triples, {0}, of_gaussian},
  };
}

// Formulas that are Symbols, which no number can take the place of, as their documentation has them.
std::vector<Row> composed_rows() {
  static const Formula kLogaddexp =
      N_DUAL::value_of<2>([](auto a, auto b) { return maximum(a, b) + log1p(exp(-abs(a - b))); });
  static const Formula kLogaddexp2 =
      N_DUAL::value_of<2>([](auto a, auto b) { return maximum(a, b) + log1p(exp2(-abs(a - b))) / N_DUAL::kLogOf2; });
  static const Formula kXlogy = N_DUAL::value_of<2>([](auto x, auto y) { return x * log(y); });
  static const Formula kXlog1py = N_DUAL::value_of<2>([](auto x, auto y) { return x * log1p(y); });
  static const Formula kClampBetween =
      N_DUAL::value_of<3>([](auto x, auto low, auto high) { return minimum(maximum(x, low), high); });
  static const Formula kAddcmul = N_DUAL::value_of<3>([](auto x, auto a, auto b) { return x + 0.7 * (a * b); });
  static const Formula kAddcdiv = N_DUAL::value_of<3>([](auto x, auto a, auto b) { return x + 0.7 * (a / b); });
  static const Formula kPowOf = N_DUAL::value_of<1>([](auto b) { return pow(decltype(b)(1.7), b); });
  static const Formula kSincNear0 = N_DUAL::value_of<1>([](auto x) {
    const auto u = x * x * (kPi * kPi);
    return 1 + u * (-1. / 6 + u * (1. / 120 + u * (-1. / 5040 + u * (1. / 362880 - u / 39916800))));
  });
  const std::vector<Points> triples = {kFew, kFewOthers, {-1e3, -2, 0.7, 1e-9, 30}};
  const Size sum_of_value = [](At x, int order) { return order == 0 ? std::abs(x[0]) : 0; };
  const std::vector<Points> bounds = {kOrdinary, {-1.9, -0.75e-8, 5}, {-0.1, 1.7, 750}};
  static const Formula kErfc = N_DUAL::value_of<1>([](auto x) { return 1 - erf(x); });
  return {
      {"erfc", &kErfc, of_one(erfc), {kOrdinary}, {}, always(1)},
      {"sinc near 0", &kSincNear0, of_one(sinc), {{-0.02, -1e-3, -1e-8, -1e-30, 0, 1e-30, 1e-8, 1e-3, 0.02}}},
      {"logaddexp", &kLogaddexp, of_two([](T a, T b) { return logaddexp(a, b); }), kPairs, {}, always(1)},
      {"logaddexp2", &kLogaddexp2, of_two([](T a, T b) { return logaddexp2(a, b); }), kPairs, {}, always(1)},
      {"xlogy", &kXlogy, of_two([](T x, T y) { return xlogy(x, y); }), kPairs},
      {"xlog1py", &kXlog1py, of_two([](T x, T y) { return xlog1py(x, y); }), kPairs},
      {"clamp_between", &kClampBetween, of_three([](T x, T low, T high) { return clamp(x, low, high); }), bounds},
      {"addcmul", &kAddcmul, of_three([](T x, T a, T b) { return addcmul(x, a, b, 0.7); }), triples, {}, sum_of_value},
      {"addcdiv", &kAddcdiv, of_three([](T x, T a, T b) { return addcdiv(x, a, b, 0.7); }), triples, {}, sum_of_value},
      {"a number to a power", &kPowOf, of_one([](T b) { return pow(1.7, b); })},
  };
}

// The functions of one tensor that take numbers, or are special by their points or sizes.
std::vector<Row> special_functions() {
  Points no_kinks = kOrdinary;
  std::erase_if(no_kinks, [](double x) { return std::abs(x) == 3; });
  const std::vector<Points> smooth = {no_kinks},
                            far_and_near = {{-1e30, -1e3, -100, -20, -3, -1, -0.3, 0.3, 0.7, 1, 3, 20.5, 1e3, 1e30}};
  return {
      {"nan_to_num", nullptr, of_one([](T x) { return nan_to_num(x, 1, 2, 3); }), {kOrdinary}, {1, 2, 3}},
      {"leaky_relu", nullptr, of_one([](T x) { return leaky_relu(x, 0.1); }), {kOrdinary}, {0.1}},
      {"elu", nullptr, of_one([](T x) { return elu(x, 0.7); }), {kOrdinary}, {0.7}},
      {"hardtanh", nullptr, of_one([](T x) { return hardtanh(x, -1.9, 1.7); }), {kOrdinary}, {-1.9, 1.7}},
      {"hardsigmoid", nullptr, of_one(hardsigmoid), smooth},
      {"hardswish", nullptr, of_one(hardswish), smooth},
      {"softplus", nullptr, of_one([](T x) { return softplus(x, 1.5, 20); }), {kOrdinary}, {1.5, 20}},
      // (1 - x) (1 + x) loses the digits of a small x, and so do second derivatives
      {"asin", nullptr, of_one(asin), {kOrdinary}, {}, second(1)},
      {"acos", nullptr, of_one(acos), {kOrdinary}, {}, second(1)},
      {"atanh", nullptr, of_one(atanh), {kOrdinary}, {}, second(1)},
      // 1 + y and 1 - y of a y that is rounded to -1 or 1, and 1 + erf(x)
      {"expm1", nullptr, of_one(expm1), {kOrdinary}, {}, always(1)},
      {"tanh", nullptr, of_one(tanh), {kOrdinary}, {}, always(1)},
      {"sigmoid", nullptr, of_one(sigmoid), {kOrdinary}, {}, always(1)},
      {"silu", nullptr, of_one(silu), {kOrdinary}, {}, always(1)},
      {"log_sigmoid", nullptr, of_one(log_sigmoid), {kOrdinary}, {}, always(1)},
      {"mish", nullptr, of_one(mish), {kOrdinary}, {}, always(4)},
      {"gelu", nullptr, of_one([](T x) { return gelu(x); }), {kOrdinary}, {}, always(1)},
      {"gelu_tanh", nullptr, of_one([](T x) { return gelu(x, Gelu::tanh); }), {kOrdinary}, {}, always(1)},
      // Here the dual numbers cancel: 1 / d - |x| / d^2 of a large d = 1 + |x|; sin(t) / t near 0, which has a row of
      // its own, and far from it, where x pi is rounded
      {"softsign", nullptr, of_one(softsign), {kOrdinary}, {}, always(1)},
      {"sinc", nullptr, of_one(sinc), far_and_near, {}, always(10)},
  };
}

// All that the table has, by their names.
std::vector<Row> function_rows() {
  const std::vector<Row> special = special_functions();
  std::vector<Row> rows;
  for (const NamedFunction& function : N_DUAL::kFunctions) {
    Row row{std::string(function.name), nullptr, {}};
    const auto known = std::ranges::find(special, row.name, &Row::name);
    const auto call = tasks::op_cases().calls.find(row.name);
    if (known != special.end()) {
      row = *known;
    } else if (call != tasks::op_cases().calls.end()) {
      row.f = of_one([&f = call->second](T x) { return f({x}, tasks::kNone)[0]; });
    } else {
      ADD_FAILURE() << row.name << " of elementwise.cpp is neither called by checks/cases nor in this table";
      continue;
    }
    row.value = &function.f.value;
    rows.push_back(row);
  }
  return rows;
}

std::vector<Row> all_rows() {
  std::vector<Row> rows = function_rows();
  for (const auto& more : {arithmetic_rows(), gate_rows(), loss_rows(), composed_rows()})
    rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

}  // namespace
}  // namespace tapegrad::tests
