// The operations that random programs are made of: elementwise ones and reductions.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tests/support/program_table.h>

namespace tapegrad::tests {

void add_elementwise(Table& table) {
  const Table::Before as_is{"X", "X", [](const Tensor& x) { return x; }};
  const Table::Before positive{"square(X) + 0.5", "X.square() + 0.5", [](const Tensor& x) { return square(x) + 0.5; }};
  const Table::Before above_one{"square(X) + 1.2", "X.square() + 1.2", [](const Tensor& x) { return square(x) + 1.2; }};
  const Table::Before within_one{"tanh(X) * 0.8", "X.tanh() * 0.8", [](const Tensor& x) { return tanh(x) * 0.8; }};
  const Smooth not_zero = first_away_from({0});
  const Smooth not_whole = [](const A& a) { return away_from(a.t[0] - round(a.t[0]), {0, 0.5, -0.5}); };
  table.unary("exp", exp, as_is);
  table.unary("expm1", expm1, as_is);
  table.unary("exp2", exp2, as_is);
  table.unary("log", log, positive);
  table.unary("log1p", log1p, positive);
  table.unary("log2", log2, positive);
  table.unary("log10", log10, positive);
  table.unary("sqrt", sqrt, positive);
  table.unary("rsqrt", rsqrt, positive);
  table.unary("reciprocal", reciprocal, positive);
  table.unary("square", square, as_is);
  table.unary("sin", sin, as_is);
  table.unary("cos", cos, as_is);
  table.unary("tan", tan, within_one);
  table.unary("asin", asin, within_one);
  table.unary("acos", acos, within_one);
  table.unary("atan", atan, as_is);
  table.unary("sinh", sinh, as_is);
  table.unary("cosh", cosh, as_is);
  table.unary("tanh", tanh, as_is);
  table.unary("asinh", asinh, as_is);
  table.unary("acosh", acosh, above_one);
  table.unary("atanh", atanh, within_one);
  table.unary("erf", erf, as_is);
  table.unary("neg", neg, as_is);
  table.unary("abs", abs, as_is, not_zero);
  table.unary("sign", sign, as_is, not_zero);
  table.unary("floor", floor, as_is, not_whole);
  table.unary("ceil", ceil, as_is, not_whole);
  table.unary("round", round, as_is, not_whole);
  table.unary("trunc", trunc, as_is, not_whole);
  table.unary("sigmoid", sigmoid, as_is);
  table.unary("log_sigmoid", log_sigmoid, as_is, {}, "F.logsigmoid");
  table.unary("relu", relu, as_is, not_zero);
  table.unary("relu6", relu6, as_is, first_away_from({0, 6}), "F.relu6");
  table.unary("silu", silu, as_is, {}, "F.silu");
  table.unary("mish", mish, as_is, {}, "F.mish");
  table.unary("softsign", softsign, as_is, not_zero, "F.softsign");
  // PyTorch computes 1/6, and the order of a norm, in float32.
  table.add(
      "hardsigmoid({t0})", "({t0} / 6 + 0.5).clamp(0, 1)", any_value, [](const A& a) { return hardsigmoid(a.t[0]); },
      first_away_from({-3, 3}));
  table.add(
      "hardswish({t0})", "{t0} * ({t0} / 6 + 0.5).clamp(0, 1)", any_value, [](const A& a) { return hardswish(a.t[0]); },
      first_away_from({-3, 3}));
  table.unary("selu", selu, as_is, not_zero, "F.selu");
  table.add("gelu({t0})", "F.gelu({t0})", any_value, [](const A& a) { return gelu(a.t[0]); });
  table.add("gelu({t0}, Gelu::tanh)", "F.gelu({t0}, approximate='tanh')", any_value,
            [](const A& a) { return gelu(a.t[0], Gelu::tanh); });
  table.add("softplus({t0}, {d0})", "F.softplus({t0}, {d0})", and_number(any_value, 0.5, 2),
            [](const A& a) { return softplus(a.t[0], a.d(0)); });
  table.add(
      "leaky_relu({t0}, {d0})", "F.leaky_relu({t0}, {d0})", and_number(any_value, 0.1, 0.5),
      [](const A& a) { return leaky_relu(a.t[0], a.d(0)); }, not_zero);
  table.add(
      "elu({t0}, {d0})", "F.elu({t0}, {d0})", and_number(any_value, 0.3, 2),
      [](const A& a) { return elu(a.t[0], a.d(0)); }, not_zero);
  table.add(
      "hardtanh({t0}, -0.7, 1.1)", "F.hardtanh({t0}, -0.7, 1.1)", any_value,
      [](const A& a) { return hardtanh(a.t[0], -0.7, 1.1); }, first_away_from({-0.7, 1.1}));
  table.add(
      "clamp({t0}, -0.8, 0.9)", "{t0}.clamp(-0.8, 0.9)", any_value, [](const A& a) { return clamp(a.t[0], -0.8, 0.9); },
      first_away_from({-0.8, 0.9}));
  table.add("nan_to_num({t0})", "torch.nan_to_num({t0})", any_value, [](const A& a) { return nan_to_num(a.t[0]); });
  table.add("pow(square({t0}) + 0.5, {d0})", "(({t0}).square() + 0.5) ** {d0}", and_number(any_value, -2, 2.5),
            [](const A& a) { return pow(square(a.t[0]) + 0.5, a.d(0)); });
  table.add("pow({t0}, 3)", "{t0} ** 3", any_value, [](const A& a) { return pow(a.t[0], 3); });
  table.add("{t0} + {d0}", "{t0} + {d0}", and_number(any_value, -2, 2), [](const A& a) { return a.t[0] + a.d(0); });
  table.add("{d0} - {t0}", "{d0} - {t0}", and_number(any_value, -2, 2), [](const A& a) { return a.d(0) - a.t[0]; });
  table.add("{t0} * {d0}", "{t0} * {d0}", and_number(any_value, 0.3, 2), [](const A& a) { return a.t[0] * a.d(0); });
  table.add("{t0} / {d0}", "{t0} / {d0}", and_number(any_value, 0.5, 2), [](const A& a) { return a.t[0] / a.d(0); });
  table.add("{d0} / (square({t0}) + 0.5)", "{d0} / ({t0}.square() + 0.5)", and_number(any_value, 0.5, 2),
            [](const A& a) { return a.d(0) / (square(a.t[0]) + 0.5); });
  table.add(
      "where(gt({t0}, {d0}), {t0}, {t1})", "torch.where({t0} > {d0}, {t0}, {t1})", and_number(pair, -0.5, 0.5),
      [](const A& a) { return where(gt(a.t[0], a.d(0)), a.t[0], a.t[1]); },
      [](const A& a) { return away_from(a.t[0], {a.d(0)}); });
  table.add(
      "where(lt({t0}, {t1}), {t1}, {d0})", "torch.where({t0} < {t1}, {t1}, torch.tensor({d0}, dtype={T}))",
      and_number(pair, -1, 1), [](const A& a) { return where(lt(a.t[0], a.t[1]), a.t[1], a.d(0)); }, kFirstTwoDiffer);
  table.add(
      "masked_fill({t0}, le({t0}, {d0}), 0.5)", "{t0}.masked_fill({t0} <= {d0}, 0.5)", and_number(any_value, -0.5, 0.5),
      [](const A& a) { return masked_fill(a.t[0], le(a.t[0], a.d(0)), 0.5); },
      [](const A& a) { return away_from(a.t[0], {a.d(0)}); });
}

void add_pairs(Table& table) {
  table.add("{t0} + {t1}", "{t0} + {t1}", pair, [](const A& a) { return a.t[0] + a.t[1]; });
  table.add("{t0} - {t1}", "{t0} - {t1}", pair, [](const A& a) { return a.t[0] - a.t[1]; });
  table.add("{t0} * {t1}", "{t0} * {t1}", pair, [](const A& a) { return a.t[0] * a.t[1]; });
  table.add("{t0} / (square({t1}) + 0.5)", "{t0} / ({t1}.square() + 0.5)", pair,
            [](const A& a) { return a.t[0] / (square(a.t[1]) + 0.5); });
  table.add("pow(square({t0}) + 0.5, {t1})", "torch.pow({t0}.square() + 0.5, {t1})", pair,
            [](const A& a) { return pow(square(a.t[0]) + 0.5, a.t[1]); });
  table.add(
      "maximum({t0}, {t1})", "torch.maximum({t0}, {t1})", pair, [](const A& a) { return maximum(a.t[0], a.t[1]); },
      kFirstTwoDiffer);
  table.add(
      "minimum({t0}, {t1})", "torch.minimum({t0}, {t1})", pair, [](const A& a) { return minimum(a.t[0], a.t[1]); },
      kFirstTwoDiffer);
  const Smooth no_whole_quotient = [](const A& a) {
    const Tensor q = a.t[0] / (square(a.t[1]) + 0.5);
    return away_from(q - round(q), {0});
  };
  table.add(
      "fmod({t0}, square({t1}) + 0.5)", "torch.fmod({t0}, {t1}.square() + 0.5)", pair,
      [](const A& a) { return fmod(a.t[0], square(a.t[1]) + 0.5); }, no_whole_quotient);
  table.add(
      "remainder({t0}, square({t1}) + 0.5)", "torch.remainder({t0}, {t1}.square() + 0.5)", pair,
      [](const A& a) { return remainder(a.t[0], square(a.t[1]) + 0.5); }, no_whole_quotient);
  table.add("atan2({t0}, square({t1}) + 0.5)", "torch.atan2({t0}, {t1}.square() + 0.5)", pair,
            [](const A& a) { return atan2(a.t[0], square(a.t[1]) + 0.5); });
  table.add("lerp({t0}, {t1}, {d0})", "torch.lerp({t0}, {t1}, {d0})", and_number(pair, -0.5, 1.5),
            [](const A& a) { return lerp(a.t[0], a.t[1], a.d(0)); });
  table.add(
      "lerp({t0}, {t1}, {t2})", "torch.lerp({t0}, {t1}, {t2})", three,
      [](const A& a) { return lerp(a.t[0], a.t[1], a.t[2]); }, [](const A& a) { return away_from(a.t[2], {0.5}); });
  table.add(
      "prelu({t0}, {t1}.reshape({1}))", "F.prelu({t0}, {t1}.reshape(1))",
      [](const D& d, Call& c) { return sized(1, 24)(d, c) && sized(1, 1)(d, c); },
      [](const A& a) { return prelu(a.t[0], a.t[1].reshape({1})); }, first_away_from({0}));
  const DrawRule even = [](const D& d, Call& c) { return with_filled_axis(d, c) && d.last(c).size(c.i[0]) % 2 == 0; };
  table.add("glu({t0}, {i0})", "F.glu({t0}, {i0})", even, [](const A& a) { return glu(a.t[0], a.i(0)); });
  table.add("swiglu({t0}, {i0})", "F.silu({t0}.chunk(2, {i0})[0]) * {t0}.chunk(2, {i0})[1]", even,
            [](const A& a) { return swiglu(a.t[0], a.i(0)); });
}

void add_reductions(Table& table) {
  const auto whole = [&](const std::string& name, Tensor (*f)(const Tensor&), DrawRule draw, Smooth smooth = {}) {
    table.add(
        name + "({t0})", "{t0}." + name + "()", std::move(draw), [f](const A& a) { return f(a.t[0]); },
        std::move(smooth));
  };
  whole(
      "sum", [](const Tensor& x) { return sum(x); }, any_value);
  whole(
      "prod", [](const Tensor& x) { return prod(x); }, any_value);
  whole(
      "mean", [](const Tensor& x) { return mean(x); }, not_empty);
  whole(
      "max", [](const Tensor& x) { return max(x); }, not_empty, kApart);
  whole(
      "min", [](const Tensor& x) { return min(x); }, not_empty, kApart);
  whole(
      "median", [](const Tensor& x) { return median(x); }, not_empty, kApart);
  using OfAxis = Tensor (*)(const Tensor&, int64_t, bool);
  const auto along = [&](const std::string& name, OfAxis f, DrawRule draw = with_axis_and_flag, Smooth smooth = {},
                         const std::string& after = "") {
    table.add(
        name + "({t0}, {i0}, {i1})" + (after.empty() ? "" : ".values"), "{t0}." + name + "({i0}, bool({i1}))" + after,
        std::move(draw), [f](const A& a) { return f(a.t[0], a.i(0), a.i(1) != 0); }, std::move(smooth));
  };
  along("sum", [](const Tensor& x, int64_t i, bool keep) { return sum(x, {i}, keep); });
  along("mean", [](const Tensor& x, int64_t i, bool keep) { return mean(x, {i}, keep); });
  along(
      "amax", [](const Tensor& x, int64_t i, bool keep) { return amax(x, {i}, keep); }, with_axis_and_flag, kApart);
  along(
      "amin", [](const Tensor& x, int64_t i, bool keep) { return amin(x, {i}, keep); }, with_axis_and_flag, kApart);
  along("prod", [](const Tensor& x, int64_t i, bool keep) { return prod(x, {i}, keep); });
  along("logsumexp", [](const Tensor& x, int64_t i, bool keep) { return logsumexp(x, {i}, keep); });
  along(
      "max", [](const Tensor& x, int64_t i, bool keep) { return max(x, i, keep).values; }, with_axis_and_flag, kApart,
      "[0]");
  along(
      "min", [](const Tensor& x, int64_t i, bool keep) { return min(x, i, keep).values; }, with_axis_and_flag, kApart,
      "[0]");
  along(
      "median", [](const Tensor& x, int64_t i, bool keep) { return median(x, i, keep).values; }, with_axis_and_flag,
      kApart, "[0]");
  const DrawRule spread = [](const D& d, Call& c) {
    if (!with_long_axis(d, c)) return false;
    c.i.push_back(d.below(2));
    return true;
  };
  table.add("var({t0}, {{i0}}, false, {i1})", "{t0}.var({i0}, unbiased=bool({i1}))", spread,
            [](const A& a) { return var(a.t[0], {a.i(0)}, false, static_cast<double>(a.i(1))); });
  table.add(
      "tapegrad::std({t0}, {{i0}}, true, {i1})", "{t0}.std({i0}, unbiased=bool({i1}), keepdim=True)", spread,
      [](const A& a) { return std(a.t[0], {a.i(0)}, true, static_cast<double>(a.i(1))); }, kApart);
  table.add(
      "norm({t0}, 2, {{i0}})", "torch.linalg.vector_norm({t0}, 2, {i0})", with_filled_axis,
      [](const A& a) { return norm(a.t[0], 2, {a.i(0)}); }, first_away_from({0}));
  table.add(
      "norm({t0}, {i1} * 0.25, {{i0}}, true)", "torch.linalg.vector_norm({t0}, {i1} * 0.25, {i0}, keepdim=True)",
      [](const D& d, Call& c) {
        if (!with_filled_axis(d, c)) return false;
        c.i.push_back(d.between(4, 14));
        return true;
      },
      [](const A& a) { return norm(a.t[0], static_cast<double>(a.i(1)) * 0.25, {a.i(0)}, true); },
      first_away_from({0}));
  table.add(
      "normalize({t0}, 2, {i0})", "F.normalize({t0}, dim={i0})", with_filled_axis,
      [](const A& a) { return normalize(a.t[0], 2, a.i(0)); }, first_away_from({0}));
  const auto scan = [&](const std::string& name, Tensor (*f)(const Tensor&, int64_t), Smooth smooth = {},
                        bool pick = false) {
    table.add(
        name + "({t0}, {i0})" + (pick ? ".values" : ""), "{t0}." + name + "({i0})" + (pick ? "[0]" : ""),
        with_filled_axis, [f](const A& a) { return f(a.t[0], a.i(0)); }, std::move(smooth));
  };
  scan("cumsum", cumsum);
  scan("cumprod", cumprod);
  scan("logcumsumexp", logcumsumexp);
  scan(
      "cummax", [](const Tensor& x, int64_t i) { return cummax(x, i).values; }, kApart, true);
  scan(
      "cummin", [](const Tensor& x, int64_t i) { return cummin(x, i).values; }, kApart, true);
  scan(
      "sort", [](const Tensor& x, int64_t i) { return sort(x, i).values; }, kApart, true);
  scan("softmax", softmax);
  scan("log_softmax", log_softmax);
  table.add(
      "topk({t0}, {i1}, {i0}).values", "{t0}.topk({i1}, {i0})[0]",
      [](const D& d, Call& c) {
        if (!with_filled_axis(d, c)) return false;
        c.i.push_back(d.between(1, d.last(c).size(c.i[0])));
        return true;
      },
      [](const A& a) { return topk(a.t[0], a.i(1), a.i(0)).values; }, kApart);
}

}  // namespace tapegrad::tests
