// Cases of extremes, medians and orders.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/checks/cases/case.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace tapegrad::tasks {
namespace {

using A = Arguments;
using Along = Sorted (*)(const Tensor&, int64_t, Flag);
using Whole = Tensor (*)(const Tensor&);

// max, min, median: of all elements without the attribute "axis".
void add_extreme(CaseTable& t, const std::string& name, Along along, Whole whole) {
  t.function(name, along, "axis keepdim", "." + name, with_axis_and_flag, apart);
  t.rule(name + "({t0})", "{t0}." + name + "()", not_empty, apart, [whole](const A& a) { return whole(a.t[0]); });
  t.call(name, [=, of_axis = call_of(along, "axis keepdim")](const Inputs& x, const json& args) -> Outputs {
    return args.contains("axis") ? of_axis(x, args) : outputs(whole(x[0]));
  });
  const auto both = [&](const std::string& label, const Tensor& x, int axis) {
    t.add(name, label, {x}, {{"axis", axis}});
    t.add(name, label + ", kept", {x}, {{"axis", axis}, {"keepdim", true}});
    t.add(name, label + ", all", {x});
  };
  for (const LaidOut& a : layouts(3, 4)) {
    both(a.label, a.x, -1);
    both(a.label + ", columns", a.x, 0);
  }
  both("[19]", spread({19}), 0);
  both("[2, 3, 2]", spread({2, 3, 2}), 1);
  both("scalar", spread({}), 0);
  t.add(name, "no row is left", {spread({0, 3})}, {{"axis", 1}});
}

void add_positions(CaseTable& t, const char* name, Tensor (*along)(const Tensor&, int64_t, Flag),
                   Tensor (*whole)(const Tensor&, bool)) {
  t.call(name, [=, of_axis = call_of(along, "axis keepdim")](const Inputs& x, const json& args) -> Outputs {
    return args.contains("axis") ? of_axis(x, args) : outputs(whole(x[0], args.value("keepdim", false)));
  });
}

void add_orders(CaseTable& t) {
  t.function("sort", sort, "axis=-1 descending", ".sort", with_filled_axis, apart, 1);
  t.call("topk", topk, "k axis=-1 largest=1");
  t.rule(FORMULA(topk(a.t[0], a.i(1), a.i(0)).values), "{t0}.topk({i1}, {i0})[0]",
         then(with_filled_axis, [](const Draw& d, Call& c) { c.i.push_back(d.between(1, d.last(c).size(c.i[0]))); }),
         apart);
  for (bool down : {false, true}) {
    const std::string way = down ? ", falling" : ", rising";
    for (const LaidOut& a : layouts(3, 4)) {
      for (int axis : {-1, 0}) {
        const std::string label = a.label + way + (axis == 0 ? ", rows" : "");
        t.add("sort", label, {a.x}, {{"axis", axis}, {"descending", down}});
        t.add("topk", label, {a.x}, {{"k", 2}, {"axis", axis}, {"largest", down}});
      }
    }
  }
  t.add("sort", "[7]", {spread({7})});
  t.add("sort", "[0]", {spread({0})});
  t.add("topk", "none of them", {spread({3})}, {{"k", 0}});
  t.add("topk", "all of them", {spread({5})}, {{"k", 5}});
}

void add_quantiles(CaseTable& t) {
  const auto quantile_call = [&](const char* name, auto of_tensor, auto of_number) {
    t.call(
        name,
        [=](const Inputs& x, const json& args) -> Outputs {
          const auto axis = args.contains("axis") ? std::optional(integer(args, "axis")) : std::nullopt;
          const std::string mode = args.value("mode", "linear");
          const std::pair<const char*, QuantileMode> modes[] = {{"lower", QuantileMode::lower},
                                                                {"higher", QuantileMode::higher},
                                                                {"midpoint", QuantileMode::midpoint},
                                                                {"nearest", QuantileMode::nearest}};
          const auto* const at = std::ranges::find(modes, mode, &std::pair<const char*, QuantileMode>::first);
          const QuantileMode way = at == std::end(modes) ? QuantileMode::linear : at->second;
          const bool keepdim = args.value("keepdim", false);
          if (const auto q = number(args, "q")) return {of_number(x[0], *q, axis, keepdim, way)};
          return {of_tensor(x[0], x[1], axis, keepdim, way)};
        },
        "lerp");
  };
  using OfTensor = Tensor (*)(const Tensor&, const Tensor&, std::optional<int64_t>, Flag, QuantileMode);
  using OfNumber = Tensor (*)(const Tensor&, double, std::optional<int64_t>, Flag, QuantileMode);
  quantile_call("quantile", OfTensor(quantile), OfNumber(quantile));
  quantile_call("nanquantile", OfTensor(nanquantile), OfNumber(nanquantile));
  for (const LaidOut& a : layouts(3, 4)) {
    t.add("quantile", "quantile, " + a.label, {a.x}, {{"q", 0.3}, {"axis", 1}, {"keepdim", true}});
    t.add("quantile", "quantile of all, " + a.label, {a.x}, {{"q", 0.7}, {"mode", "midpoint"}});
    t.add("quantile", "three quantiles, " + a.label, {a.x, tensor({0.1, 0.45, 0.8}, kFloat64)}, {{"axis", 0}});
  }
  t.rule(FORMULA(quantile(a.t[0], a.d(0), a.i(0))), "{t0}.quantile({d0}, {i0})", and_number(with_filled_axis, 0.1, 0.9),
         apart);
}

}  // namespace

void add_order_cases(CaseTable& t) {
  add_extreme(t, "max", max, max);
  add_extreme(t, "min", min, min);
  add_extreme(t, "median", median, median);
  add_positions(t, "argmax", argmax, argmax);
  add_positions(t, "argmin", argmin, argmin);
  add_orders(t);
  add_quantiles(t);
  if (!t.large()) return;
  const Tensor x = numbers({kRows, kColumns});
  for (int axis : {0, 1}) {
    t.add_large("max", {x}, {{"axis", axis}});
    t.add_large("min", {numbers({kColumns, kRows}).t()}, {{"axis", axis}});
    t.add_large("median", {x}, {{"axis", axis}});
    t.add_large("sort", {x}, {{"axis", axis}});
    t.add_large("topk", {x}, {{"k", 5}, {"axis", axis}});
  }
}

}  // namespace tapegrad::tasks
