// Cases of arithmetic, comparisons, logic and selection.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/checks/cases/case.h>

#include <string>
#include <tuple>
#include <utility>

namespace tapegrad::tasks {
namespace {

using A = Arguments;
using OfTwo = Tensor (*)(const Tensor&, const Tensor&);
using OfNumber = Tensor (*)(const Tensor&, Scalar);
using OfLeft = Tensor (*)(Scalar, const Tensor&);

// An operation on two tensors, or on one and a number: the attribute "scalar" on the right, "left" on the left.
void add_operator_calls(CaseTable& t, const char* name, OfTwo both, OfNumber right, OfLeft left = nullptr) {
  t.call(name, [=](const Inputs& x, const json& args) -> Outputs {
    if (const auto scalar = number(args, "left")) return {left(*scalar, x[0])};
    if (const auto scalar = number(args, "scalar")) return {right(x[0], *scalar)};
    return {both(x[0], x[1])};
  });
}

void add_operators(CaseTable& t) {
  add_operator_calls(t, "add", add, add);
  add_operator_calls(t, "sub", sub, sub, sub);
  add_operator_calls(t, "mul", mul, mul);
  add_operator_calls(t, "div", div, div, div);
  add_operator_calls(t, "pow", pow, pow);
  const std::pair<const char*, OfTwo> operators[] = {{"add", add}, {"sub", sub}, {"mul", mul}};
  for (const auto& [op, f] : operators) t.samples(op, BinaryFunction(f));
  t.samples("div", BinaryFunction(OfTwo(div)), 0.4, 2);
  t.samples("pow", BinaryFunction(OfTwo(pow)), 0.3, 2.2);
  t.samples("add", [](const Tensor& x) { return add(x, 0.7); });
  t.samples("sub", [](const Tensor& x) { return sub(x, 0.7); });
  t.samples("sub", [](const Tensor& x) { return sub(0.7, x); });
  t.samples("mul", [](const Tensor& x) { return mul(x, -1.3); });
  t.samples("div", [](const Tensor& x) { return div(x, -1.3); });
  t.samples("div", 0.5, 2, [](const Tensor& x) { return div(1.7, x); });
  for (double exponent : {2.0, 3.0, 0.5, -0.5, -1.0, 2.7}) {
    t.samples("pow", 0.4, 2.2, [exponent](const Tensor& x) { return pow(x, exponent); });
  }
  t.add("mul", "a tensor by itself", {spread({2, 3})}, [](auto x) { return mul(x[0], x[0]); });
  t.add("div", "negative divisor", {spread({2, 3}), spread({3}, -2, -0.5)});
  t.add("pow", "negative base, whole exponents", {spread({4}, -2, -0.5)}, [](auto x) {
    return pow(x[0], tensor({2.0, 3.0, -1.0, -2.0}, kFloat64));
  });
  t.add("pow", "exponent 0", {spread({3}, 0.4, 2)}, {{"scalar", 0}}, {.zero_gradient = true});
  t.add("pow", "negative base", {spread({5}, -2, -0.4)}, {{"scalar", 3}});

  const DrawRule wide = and_number(any_value, -2, 2), positive = and_number(any_value, 0.5, 2);
  t.rule(FORMULA(a.t[0] + a.t[1]), "{t0} + {t1}", pair);
  t.rule(FORMULA(a.t[0] - a.t[1]), "{t0} - {t1}", pair);
  t.rule(FORMULA(a.t[0] * a.t[1]), "{t0} * {t1}", pair);
  t.rule(FORMULA(a.t[0] / (square(a.t[1]) + 0.5)), "{t0} / ({t1}.square() + 0.5)", pair);
  t.rule(FORMULA(a.t[0] + a.d(0)), "{t0} + {d0}", wide);
  t.rule(FORMULA(a.d(0) - a.t[0]), "{d0} - {t0}", wide);
  t.rule(FORMULA(a.t[0] * a.d(0)), "{t0} * {d0}", and_number(any_value, 0.3, 2));
  t.rule(FORMULA(a.t[0] / a.d(0)), "{t0} / {d0}", positive);
  t.rule(FORMULA(a.d(0) / (square(a.t[0]) + 0.5)), "{d0} / ({t0}.square() + 0.5)", positive);
  t.rule(FORMULA(pow(square(a.t[0]) + 0.5, a.t[1])), "torch.pow({t0}.square() + 0.5, {t1})", pair);
  t.rule(FORMULA(pow(square(a.t[0]) + 0.5, a.d(0))), "(({t0}).square() + 0.5) ** {d0}", and_number(any_value, -2, 2.5));
  t.rule(FORMULA(pow(a.t[0], 3)), "{t0} ** 3", any_value);
}

void add_of_two(CaseTable& t) {
  using Signature = Tensor(const Tensor&, const Tensor&);
  for (const auto& [name, f, right] :
       {std::tuple<const char*, Signature*, OfNumber>{"maximum", maximum, maximum}, {"minimum", minimum, minimum}}) {
    t.function(name, f, "", std::string("torch.") + name, pair, first_two_differ);
    add_operator_calls(t, name, f, right);
    t.samples(name, BinaryFunction(f), -2, 2, 2);
  }
  t.samples("maximum", [](const Tensor& x) { return maximum(x, -1.9); });
  t.samples("minimum", [](const Tensor& x) { return minimum(x, 1.9); });

  // Integer quotients of 1 or -2, so that no finite difference crosses a step.
  add_operator_calls(t, "fmod", fmod, fmod);
  add_operator_calls(t, "remainder", remainder, remainder);
  t.samples("fmod", [](const Tensor& a, const Tensor& b) { return fmod(a * 0.2 + 5, b * 0.1 + 3); });
  t.samples("remainder", [](const Tensor& a, const Tensor& b) { return remainder(a * 0.2 + 5, b * 0.1 - 3); });
  t.samples("fmod", -2.8, -1.7, [](const Tensor& x) { return fmod(x, -1.5); });
  t.samples("remainder", -2.8, -1.7, [](const Tensor& x) { return remainder(x, 1.5); });
  const Smooth no_whole_quotient = [](const A& a) {
    const Tensor q = a.t[0] / (square(a.t[1]) + 0.5);
    return away_from(q - round(q), {0});
  };
  t.rule(FORMULA(fmod(a.t[0], square(a.t[1]) + 0.5)), "torch.fmod({t0}, {t1}.square() + 0.5)", pair, no_whole_quotient);
  t.rule(FORMULA(remainder(a.t[0], square(a.t[1]) + 0.5)), "torch.remainder({t0}, {t1}.square() + 0.5)", pair,
         no_whole_quotient);

  t.call("atan2", atan2);
  t.samples("atan2", BinaryFunction(atan2), 0.4, 2);
  t.add("atan2", "left half", {spread({2, 3}), spread({3}, -2, -0.5)});
  t.rule(FORMULA(atan2(a.t[0], square(a.t[1]) + 0.5)), "torch.atan2({t0}, {t1}.square() + 0.5)", pair);

  t.call("lerp", [](const Inputs& x, const json& args) -> Outputs {
    if (const auto scalar = number(args, "scalar")) return {lerp(x[0], x[1], *scalar)};
    return {lerp(x[0], x[1], x[2])};
  });
  t.samples("lerp", [](const Tensor& a, const Tensor& b) { return lerp(a, b, 0.3); });
  t.samples("lerp", [](const Tensor& a, const Tensor& weight) { return lerp(a, a * a, weight); });
  const Shape triples[][3] = {{{2, 3}, {2, 3}, {2, 3}}, {{2, 1}, {3}, {2, 3}}, {{3}, {2, 3}, {}},
                              {{2, 3}, {}, {1, 3}},     {{}, {}, {4}},         {{0}, {1}, {}},
                              {{2, 0}, {2, 1}, {0}}};
  for (const auto& [a, b, w] : triples) {
    t.add("lerp", str(a) + ", " + str(b) + ", " + str(w), {spread(a), spread(b, -1, 3), spread(w, -0.3, 1.3)});
  }
  t.rule(FORMULA(lerp(a.t[0], a.t[1], a.d(0))), "torch.lerp({t0}, {t1}, {d0})", and_number(pair, -0.5, 1.5));
  t.rule(FORMULA(lerp(a.t[0], a.t[1], a.t[2])), "torch.lerp({t0}, {t1}, {t2})", three,
         [](const A& a) { return away_from(a.t[2], {0.5}); });
  if (t.large()) {
    t.add_large("lerp", {numbers({kRows, kColumns}), numbers({kColumns}, 0.3, 2), numbers({kRows, 1})});
  }
}

// Quotients of 1.06 to 1.98, or of -2.11 to -2.97, so that no finite difference crosses a step.
void add_rounded_quotients(CaseTable& t) {
  const auto call = [&](const std::string& name, Tensor (*f)(const Tensor&, const Tensor&, Rounding),
                        Tensor (*number_last)(const Tensor&, Scalar, Rounding)) {
    t.call(name, [=](const Inputs& x, const json& args) -> Outputs {
      const std::string way = args.value("rounding", "floor");
      const Rounding rounding = way == "floor" ? Rounding::floor : way == "trunc" ? Rounding::trunc : Rounding::none;
      if (const auto scalar = number(args, "scalar")) return {number_last(x[0], *scalar, rounding)};
      return {f(x[0], x[1], rounding)};
    });
  };
  call("div_rounded", div, div);
  add_operator_calls(t, "floor_divide", floor_divide, floor_divide);
  const GradcheckOptions flat{.zero_gradient = true};
  for (const char* rounding : {"floor", "trunc"}) {
    const json way{{"rounding", rounding}};
    const std::string label = std::string(", ") + rounding;
    for (const LaidOut& a : layouts(3, 4, 4.2, 5.9)) {
      t.add("div_rounded", a.label + label, {a.x, spread({3, 4}, 3, 3.9)}, way, flat);
      t.add("div_rounded", a.label + ", row" + label, {-a.x, spread({4}, 1.99, 1.999)}, way, flat);
      t.add("div_rounded", "column, " + a.label + label, {spread({3, 1}, 6, 7.9), a.x}, way, flat);
    }
    t.add("div_rounded", "[0, 3], [3]" + label, {spread({0, 3}), spread({3})}, way, flat);
    t.add("div_rounded", "number" + label, {spread({3, 4}, 4.2, 5.9)}, {{"rounding", rounding}, {"scalar", 3}}, flat);
    t.add_large("div_rounded", {numbers({kRows, kColumns}), numbers({kColumns, kRows}, 0.3, 2).t()}, way);
  }
  t.rule(FORMULA(div(a.t[0], square(a.t[1]) + 0.5, Rounding::floor)),
         "torch.div({t0}, {t1}.square() + 0.5, rounding_mode='floor')", pair, [](const A& a) {
           const Tensor q = a.t[0] / (square(a.t[1]) + 0.5);
           return away_from(q - round(q), {0});
         });
}

void add_bounds_of_tensors(CaseTable& t) {
  t.call("clamp_between", [](const Inputs& x, const json& args) -> Outputs {
    const std::string only = args.value("only", "");
    return {clamp(x[0], only == "high" ? Tensor() : x[1], only == "high" ? x[1] : input(x, 2))};
  });
  const Shape triples[][3] = {
      {{3, 4}, {3, 4}, {3, 4}}, {{3, 1}, {4}, {3, 4}}, {{4}, {3, 4}, {}}, {{3, 4}, {}, {1, 4}}, {{0}, {1}, {}}};
  for (const auto& [x, low, high] : triples) {
    t.add("clamp_between", str(x) + ", " + str(low) + ", " + str(high),
          {spread(x, -2, 2), spread(low, -1.02, -0.4), spread(high, 0.31, 1.2)});
  }
  for (const LaidOut& x : layouts(3, 4)) {
    t.add("clamp_between", x.label, {x.x, spread({4, 3}, -1.01, 0.4).t(), spread({3, 1}, -0.53, 1.03)});
  }
  t.add("clamp_between", "crossed bounds", {spread({4}, -1.01, 0.1)},
        [](auto x) { return clamp(spread({4}), spread({4}, 0.53, 2.03), x[0]); });
  t.rule(FORMULA(clamp(a.t[0], a.t[1] - 0.5, a.t[1] + 0.5)), "{t0}.clamp({t1} - 0.5, {t1} + 0.5)", pair,
         [](const A& a) {
           return away_from(a.t[0] - a.t[1], {-0.5, 0.5});
         });
  t.add_large("clamp_between", {numbers({kRows, kColumns}), numbers({kColumns}, -1, 0.2), numbers({kRows, 1}, 0, 1)});
}

void add_logarithms_of_two(CaseTable& t) {
  t.call("addcmul", addcmul, "value=1");
  t.call("addcdiv", addcdiv, "value=1");
  t.function("logaddexp", logaddexp, "", "torch.logaddexp", pair);
  t.function("logaddexp2", logaddexp2, "", "torch.logaddexp2", pair);
  t.call("xlogy", xlogy);
  t.call("xlog1py", xlog1py);
  t.rule(FORMULA(xlogy(a.t[0], square(a.t[1]) + 0.5)), "torch.xlogy({t0}, {t1}.square() + 0.5)", pair);
  t.rule(FORMULA(xlog1py(a.t[0], square(a.t[1]))), "torch.special.xlog1py({t0}, {t1}.square())", pair);
  t.rule(FORMULA(addcmul(a.t[0], a.t[1], a.t[2], 0.5)), "torch.addcmul({t0}, {t1}, {t2}, value=0.5)", three);
  t.rule(FORMULA(addcdiv(a.t[0], a.t[1], square(a.t[2]) + 0.5)), "torch.addcdiv({t0}, {t1}, {t2}.square() + 0.5)",
         three);
  t.samples("logaddexp", BinaryFunction(logaddexp), -3, 3);
  t.samples("logaddexp2", BinaryFunction(logaddexp2), -3, 3);
  t.samples("xlogy", BinaryFunction(xlogy), 0.4, 2);
  t.samples("xlog1py", BinaryFunction(xlog1py), -0.6, 2);
  const Tensor same = spread({5});
  for (const char* op : {"logaddexp", "logaddexp2"}) {
    t.add(op, "equal operands", {same, same.clone()});
    t.add(op, "apart", {spread({4}, -9, -8), spread({4}, -2, 0)});
  }
  for (const char* op : {"xlogy", "xlog1py"})
    t.add(op, "x is 0", {tensor({0., 0.7, 0.}, kFloat64), spread({3}, 0.4, 2)});
}

void add_comparisons(CaseTable& t) {
  add_operator_calls(t, "eq", eq, eq);
  add_operator_calls(t, "ne", ne, ne);
  add_operator_calls(t, "lt", lt, lt);
  add_operator_calls(t, "le", le, le);
  add_operator_calls(t, "gt", gt, gt);
  add_operator_calls(t, "ge", ge, ge);
  t.call("logical_and", logical_and);
  t.call("logical_or", logical_or);
  t.call("logical_xor", logical_xor);
  t.call("logical_not", logical_not);
  t.call("isclose", isclose, "rtol=1e-5 atol=1e-8 equal_nan");
  t.call("allclose", allclose, "rtol=1e-5 atol=1e-8 equal_nan");
  t.call("equal", equal);
  t.call("all_finite", all_finite);
  const auto logic = [&](const char* name, bool (*whole)(const Tensor&),
                         Tensor (*along)(const Tensor&, const Axes&, Flag)) {
    t.call(name, [=, of_axis = call_of(along, "axis keepdim")](const Inputs& x, const json& args) -> Outputs {
      return args.contains("axis") ? of_axis(x, args) : outputs(whole(x[0]));
    });
  };
  logic("all", all, all);
  logic("any", any, any);
}

void add_choices(CaseTable& t) {
  t.call("where", [](const Inputs& x, const json& args) -> Outputs {
    if (const auto left = number(args, "left")) return {where(x[0], *left, x[1])};
    if (const auto right = number(args, "right")) return {where(x[0], x[1], *right)};
    return {where(x[0], x[1], x[2])};
  });
  t.call("masked_fill", masked_fill, "value");
  const Shape triples[][3] = {{{2, 3}, {2, 3}, {2, 3}}, {{2, 1}, {3}, {2, 3}}, {{3}, {2, 3}, {}},
                              {{2, 3}, {}, {1, 3}},     {{1, 3}, {2, 1}, {3}}, {{0}, {1}, {}},
                              {{2, 0}, {2, 1}, {0}},    {{4}, {3, 1}, {4}}};
  for (const auto& [c, a, b] : triples) {
    t.add("where", str(c) + ", " + str(a) + ", " + str(b), {some_bools(c), spread(a), spread(b)});
  }
  for (const LaidOut& a : layouts(3, 4)) {
    for (const LaidOut& b : layouts(3, 4)) {
      t.add("where", a.label + ", " + b.label, {some_bools({4, 3}).t(), a.x, b.x});
    }
    t.add("where", a.label + ", number", {some_bools({3, 4}), a.x}, {{"right", 0.5}});
    t.add("where", "number, " + a.label, {some_bools({4}), a.x}, {{"left", 0.5}});
    t.add("masked_fill", a.label, {a.x, some_bools({3, 4})}, {{"value", -1}});
    t.add("masked_fill", a.label + ", column", {a.x, some_bools({3, 1})}, {{"value", -1}});
  }
  t.add("masked_fill", "mask [3], x [2, 3]", {spread({2, 3}), some_bools({3})}, {{"value", 0}});
  t.add("masked_fill", "[0, 3]", {spread({0, 3}), some_bools({3})}, {{"value", 0}});
  t.add("masked_fill", "everything", {spread({2, 3}), ones({2, 3}, kBool)}, {{"value", 0}}, {.zero_gradient = true});
  const auto above = [](const A& a) { return away_from(a.t[0], {a.d(0)}); };
  t.rule(FORMULA(where(gt(a.t[0], a.d(0)), a.t[0], a.t[1])), "torch.where({t0} > {d0}, {t0}, {t1})",
         and_number(pair, -0.5, 0.5), above);
  t.rule(FORMULA(where(lt(a.t[0], a.t[1]), a.t[1], a.d(0))),
         "torch.where({t0} < {t1}, {t1}, torch.tensor({d0}, dtype={T}))", and_number(pair, -1, 1), first_two_differ);
  t.rule(FORMULA(masked_fill(a.t[0], le(a.t[0], a.d(0)), 0.5)), "{t0}.masked_fill({t0} <= {d0}, 0.5)",
         and_number(any_value, -0.5, 0.5), above);
  const DrawRule matrix = and_integer(matrices, -1, 1);
  t.function("tril", tril, "diagonal", "torch.tril", matrix);
  t.function("triu", triu, "diagonal", "torch.triu", matrix);
  for (const char* op : {"tril", "triu"}) {
    for (int64_t diagonal : {0, 1, -1}) {
      for (const Shape& shape : {Shape{3, 3}, Shape{2, 4}, Shape{4, 2}, Shape{2, 3, 3}, Shape{0, 3}}) {
        t.add(op, str(shape) + " from " + std::to_string(diagonal), {spread(shape)}, {{"diagonal", diagonal}});
      }
    }
    for (const LaidOut& laid : layouts(3, 4)) t.add(op, laid.label, {laid.x});
  }
  t.add("tril", "expanded", {spread({3, 1}).expand({3, 3})});
  t.add("triu", "nothing is left", {spread({2, 2})}, {{"diagonal", 2}}, {.zero_gradient = true});
  if (!t.large()) return;
  const Tensor x = numbers({kRows, kColumns}), mask = x > 0;
  t.add_large("where", {mask, x, numbers({kColumns}, 0.3, 2)});
  t.add_large("masked_fill", {x, mask}, {{"value", 0}});
  t.add_large("tril", {x});
  t.add_large("triu", {numbers({kColumns, kRows}).t()}, {{"diagonal", 3}});
}

}  // namespace

void add_arithmetic_cases(CaseTable& table) {
  add_operators(table);
  add_of_two(table);
  add_rounded_quotients(table);
  add_bounds_of_tensors(table);
  add_logarithms_of_two(table);
  add_comparisons(table);
  add_choices(table);
}

}  // namespace tapegrad::tasks
