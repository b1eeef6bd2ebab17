// Cases of functions of one tensor, activations and gates, and of formulas for fuse().
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tapegrad.h>

#include <optional>

namespace tapegrad::tasks {
namespace {

void add_functions(CaseTable& t) {
  using enum Domain;
  t.unary("exp", exp, {"torch.exp"});
  t.unary("expm1", expm1, {"torch.expm1"});
  t.unary("exp2", exp2, {"torch.exp2"});
  t.unary("log", log, {"torch.log", 0.4, 3, between});
  t.unary("log1p", log1p, {"torch.log1p", -0.6, 2, between});
  t.unary("log2", log2, {"torch.log2", 0.4, 3, between});
  t.unary("log10", log10, {"torch.log10", 0.4, 3, between});
  t.unary("sqrt", sqrt, {"torch.sqrt", 0.4, 3, between});
  t.unary("rsqrt", rsqrt, {"torch.rsqrt", 0.4, 3, between});
  t.unary("reciprocal", reciprocal, {"torch.reciprocal", 0.5, 2, between});
  t.unary("square", square, {"torch.square"});
  t.unary("sin", sin, {"torch.sin", -4, 4});
  t.unary("cos", cos, {"torch.cos", -4, 4});
  t.unary("tan", tan, {"torch.tan", -1.1, 1.1, between});
  t.unary("asin", asin, {"torch.asin", -0.8, 0.8, between});
  t.unary("acos", acos, {"torch.acos", -0.8, 0.8, between});
  t.unary("atan", atan, {"torch.atan", -3, 3});
  t.unary("sinh", sinh, {"torch.sinh"});
  t.unary("cosh", cosh, {"torch.cosh", 0.2, 2.5});
  t.unary("tanh", tanh, {"torch.tanh", -3, 3});
  t.unary("asinh", asinh, {"torch.asinh", -3, 3});
  t.unary("acosh", acosh, {"torch.acosh", 1.4, 3, between});
  t.unary("atanh", atanh, {"torch.atanh", -0.8, 0.8, between});
  t.unary("erf", erf, {"torch.erf"});
  t.unary("sinc", sinc, {"torch.sinc", -2.5, 2.5});
  t.unary("neg", neg, {"torch.neg"});
  t.unary("abs", abs, {.pytorch = "torch.abs", .kinks = {0}});
  t.unary("sign", sign, {.pytorch = "torch.sign", .kinks = {0}, .zero_gradient = true});
  t.unary("floor", floor, {.pytorch = "torch.floor", .low = 1.02, .high = 1.9, .steps = true});
  t.unary("ceil", ceil, {.pytorch = "torch.ceil", .low = 1.02, .high = 1.9, .steps = true});
  t.unary("round", round, {.pytorch = "torch.round", .low = -0.45, .high = 0.45, .steps = true});
  t.unary("trunc", trunc, {.pytorch = "torch.trunc", .low = 1.02, .high = 1.9, .steps = true});
  t.unary("nan_to_num", [](const Tensor& x) { return nan_to_num(x); }, {"torch.nan_to_num"});
  t.call("nan_to_num", nan_to_num, "nan=0 posinf neginf");
  t.call("isnan", isnan);
  t.call("isinf", isinf);
  t.call("isfinite", isfinite);
  t.add("exp", "wide", {spread({41}, -30, 5)});
  t.add("log", "small", {spread({9}, 0.02, 0.1)}, kNone, {.step = 0x1p-14});
  t.add("tanh", "wide", {spread({41}, -12, 12)});
  t.add("erf", "wide", {spread({41}, -6, 6)});
  t.add("sinc", "at 0 and near it", {tensor({0., 1e-9, -1e-3, 0.05, 0.155, 0.163, -0.3}, kFloat64)});
  t.add("reciprocal", "negative", {spread({5}, -2, -0.5)});
  t.add("cosh", "negative", {spread({5}, -2, -0.5)});
  t.add("tan", "beyond a pole", {spread({5}, 1.9, 4)});
}

void add_activations(CaseTable& t) {
  t.unary("sigmoid", sigmoid, {"torch.sigmoid", -5, 5});
  t.unary("logit", logit, {"torch.logit", 0.1, 0.9, Domain::between});
  t.unary("log_sigmoid", log_sigmoid, {"F.logsigmoid", -4, 4});
  t.unary("relu", relu, {.pytorch = "F.relu", .low = -1, .kinks = {0}});
  t.unary("relu6", relu6, {.pytorch = "F.relu6", .low = -2.9, .high = 5.8, .kinks = {0, 6}, .op = "hardtanh"});
  t.unary("silu", silu, {"F.silu", -4, 4});
  t.unary("mish", mish, {"F.mish", -4, 4});
  t.unary("softsign", softsign, {.pytorch = "F.softsign", .low = -1, .kinks = {0}});
  t.unary("selu", selu, {.pytorch = "F.selu", .low = -1, .kinks = {0}});
  t.unary("gelu", [](const Tensor& x) { return gelu(x); }, {"F.gelu", -3, 3});
  t.samples("gelu", -3, 3, [](const Tensor& x) { return gelu(x, Gelu::tanh); });
  t.call("gelu", [](auto& x, auto& args) { return gelu(x[0], args.contains("form") ? Gelu::tanh : Gelu::erf); });
  t.rule(FORMULA(gelu(a.t[0], Gelu::tanh)), "F.gelu({t0}, approximate='tanh')", any_value);
  // In PyTorch the random programs avoid its float32 1/6.
  t.unary("hardsigmoid", hardsigmoid, {.pytorch = "F.hardsigmoid", .low = -2.8, .high = 2.8, .kinks = {-3, 3}});
  t.rules.back().python = "({t0} / 6 + 0.5).clamp(0, 1)";
  t.unary("hardswish", hardswish, {.pytorch = "F.hardswish", .low = -2.8, .high = 2.8, .kinks = {-3, 3}});
  t.rules.back().python = "{t0} * ({t0} / 6 + 0.5).clamp(0, 1)";
  t.add("sigmoid", "wide", {spread({41}, -30, 30)});
  t.add("relu", "all negative", {spread({5}, -2, -0.5)}, kNone, {.zero_gradient = true});
  t.add("mish", "large", {spread({5}, 21, 30)}, [](auto x) { return mish(x[0]) * x[0]; });
  t.add("hardswish", "beyond 3", {spread({5}, 3.2, 5)}, [](auto x) { return hardswish(x[0]) * x[0]; });
  t.add("hardsigmoid", "beyond -3", {spread({5}, -5, -3.2)}, kNone, {.zero_gradient = true});

  t.function("softplus", softplus, "beta=1 threshold=20", "F.softplus", and_number(any_value, 0.5, 2), {}, 1);
  for (double beta : {1.0, 0.5, 3.0}) t.samples("softplus", -3, 3, [=](const Tensor& x) { return softplus(x, beta); });
  t.add("softplus", "linear", {spread({5}, 21, 30)}, [](auto x) { return softplus(x[0]) * x[0]; });
  const Smooth not_zero = first_away_from({0});
  t.function("leaky_relu", leaky_relu, "slope=0.01", "F.leaky_relu", and_number(any_value, 0.1, 0.5), not_zero);
  t.samples("leaky_relu", -1, 2, [](const Tensor& x) { return leaky_relu(x, 0.1); });
  t.add("leaky_relu", "negative", {spread({5}, -2, -0.5)});
  t.function("elu", elu, "alpha=1", "F.elu", and_number(any_value, 0.3, 2), not_zero);
  t.samples("elu", -1, 2, [](const Tensor& x) { return elu(x, 0.7); });
  t.call("hardtanh", hardtanh, "low=-1 high=1");
  t.samples("hardtanh", [](const Tensor& x) { return hardtanh(x, -1.9, 1.7); });
  t.rule(FORMULA(hardtanh(a.t[0], -0.7, 1.1)), "F.hardtanh({t0}, -0.7, 1.1)", any_value, first_away_from({-0.7, 1.1}));
  t.call<Tensor, const Tensor&, std::optional<Scalar>, std::optional<Scalar>>("clamp", clamp, "low high");
  t.samples("clamp", [](const Tensor& x) { return clamp(x, -1.9, 1.7); });
  t.samples("clamp", [](const Tensor& x) { return clamp(x, -1.9, {}); });
  t.samples("clamp", [](const Tensor& x) { return clamp(x, {}, 1.9); });
  t.rule(FORMULA(clamp(a.t[0], -0.8, 0.9)), "{t0}.clamp(-0.8, 0.9)", any_value, first_away_from({-0.8, 0.9}));
}

void add_gates(CaseTable& t) {
  t.call("prelu", prelu);
  t.rule(FORMULA(prelu(a.t[0], a.t[1].reshape({1}))), "F.prelu({t0}, {t1}.reshape(1))", both(sized(1), sized(1, 1)),
         first_away_from({0}));
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{2, 3, 4}, Shape{0, 3}, Shape{2, 0}}) {
    t.add("prelu", str(shape) + ", one weight", {spread(shape, -2, 1.9), spread({1}, 0.1, 0.4)});
  }
  for (const Shape& shape : {Shape{2, 3}, Shape{2, 3, 4}, Shape{2, 3, 2, 2}, Shape{0, 3}}) {
    t.add("prelu", str(shape) + ", per channel", {spread(shape, -1, 2), spread({3}, 0.1, 0.4)});
  }
  for (const LaidOut& laid : layouts(3, 4, -1, 2)) t.add("prelu", laid.label, {laid.x, spread({4}, 0.1, 0.4)});
  const DrawRule even = [](const Draw& d, Call& c) {
    return with_filled_axis(d, c) && d.last(c).size(c.i[0]) % 2 == 0;
  };
  t.function("glu", glu, "axis=-1", "F.glu", even);
  t.function("swiglu", swiglu, "axis=-1", "", even);
  t.rules.back().python = "F.silu({t0}.chunk(2, {i0})[0]) * {t0}.chunk(2, {i0})[1]";
  for (const char* op : {"glu", "swiglu"}) {
    const auto along = [&](const std::string& label, const Tensor& x, int64_t axis) {
      t.add(op, label + " along " + std::to_string(axis), {x}, {{"axis", axis}});
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
  if (!t.large()) return;
  t.add_large("prelu", {numbers({kRows, kColumns}), numbers({kColumns}, 0.3, 2)});
  for (const char* op : {"glu", "swiglu"}) {
    for (int axis : {0, 1}) {
      t.add_large(op, {numbers({302, 1006})}, {{"axis", axis}});
      t.add_large(op, {numbers({1006, 302}).t()}, {{"axis", axis}});
    }
  }
}

// Formulas for fuse(), in steps: compilers evaluate the operands of an operator in different orders.
constexpr auto kGeluFormula = [](auto x) {
  const auto half = 0.5 * x, share = 1 + erf(x * 0.70710678118654752);
  return half * share;
};
constexpr auto kSwishFormula = [](auto x, auto beta) { return x * sigmoid(beta * x); };
constexpr auto kBurgersFormula = [](auto u, auto u_t, auto u_x, auto u_xx, auto nu) {
  const auto moved = u_t + u * u_x, spread_out = nu * u_xx;
  return moved - spread_out;
};
constexpr auto kFunctionsFormula = [](auto x, auto y) {
  const auto a = exp(-square(x)), b = tanh(y), ab = a * b;
  const auto c = log(1 + x * x), d = sin(y), e = sqrt(cosh(x)), cde = c * d / e;
  const auto f = cos(x / 3), g = pow(y * y + 1, 1.5), fg = f * g / 4;
  return ab + cde - fg;
};
constexpr auto kPowersFormula = [](auto x, auto y) {
  const auto a = pow(x * x + 0.5, y), b = atan2(y, x + 3), c = 1 / (2 + x * x);
  return a + b + c;
};
constexpr auto kPiecesFormula = [](auto x, auto y) {
  const auto product = minimum(x * y, 0.3), larger = maximum(x, -y), limited = clamp(x, -1, 1);
  const auto outside = where(x > 1 || y > 1, larger, limited);
  return where(x < y && !(abs(x) >= 1.5), product, outside);
};
constexpr auto kFirstFormula = [](auto x, auto) { return x; };

Tensor fused(const std::string& formula, const Inputs& x) {
  if (formula == "gelu") return fuse(kGeluFormula, x[0]);
  if (formula == "swish") return x.size() > 1 ? fuse(kSwishFormula, x[0], x[1]) : fuse(kSwishFormula, x[0], 1.5);
  if (formula == "burgers") return fuse(kBurgersFormula, x[0], x[1], x[2], x[3], x[4]);
  if (formula == "functions") return fuse(kFunctionsFormula, x[0], x[1]);
  if (formula == "powers") return fuse(kPowersFormula, x[0], x[1]);
  if (formula == "pieces") return fuse(kPiecesFormula, x[0], x[1]);
  return fuse(kFirstFormula, x[0], x[1]);
}

void add_formulas(CaseTable& t) {
  t.call("fuse", [](auto& x, auto& args) { return fused(args["formula"].string(), x); });
  t.samples("fuse", [](const Tensor& x) { return fuse(kGeluFormula, x); });
  for (const char* formula : {"swish", "functions", "powers"}) {
    t.samples("fuse", BinaryFunction([formula](const Tensor& x, const Tensor& y) { return fused(formula, {x, y}); }));
  }
  t.add("fuse", "pieces", {spread({5, 3}, -2.1, 1.93), spread({3}, -1.57, 1.71)}, {{"formula", "pieces"}});
  t.add("fuse", "one tensor twice", {spread({5})}, [](auto x) { return fuse(kFunctionsFormula, x[0], x[0]); });
  t.add("fuse", "five tensors",
        {spread({3, 4}), spread({3, 1}), spread({4}), spread({3, 4}).t().contiguous().t(), spread({})},
        {{"formula", "burgers"}});
  t.rule(FORMULA(fuse([](auto x, auto y) { return x * tanh(y) + exp(-x * x); }, a.t[0], a.t[1])),
         "({t0} * {t1}.tanh() + (-{t0} * {t0}).exp())", pair);
  if (!t.large()) return;
  for (const char* formula : {"functions", "powers", "pieces"}) {
    t.add_large("fuse", {numbers({kRows, kColumns}), numbers({kColumns})}, {{"formula", formula}});
    t.add_large("fuse", {numbers({kColumns, kRows}).t(), numbers({kRows, 1})}, {{"formula", formula}});
  }
  t.add_large("fuse", {numbers({kRows, kColumns})}, {{"formula", "gelu"}});
}

}  // namespace

void add_elementwise_cases(CaseTable& table) {
  add_functions(table);
  add_activations(table);
  add_gates(table);
  add_formulas(table);
}

}  // namespace tapegrad::tasks
