// Cases of reductions, norms of vectors, and scans.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/checks/cases/case.h>

#include <cmath>

namespace tapegrad::tasks {
namespace {

using A = Arguments;

void add_reductions(CaseTable& t) {
  using InType = Tensor(const Tensor&, const Axes&, Flag, DType);
  const auto reduction = [&](const char* name, ReductionFunction f, InType* in_type, bool empty) {
    t.reduction(name, f, empty);
    t.call(name, [in_type, call = t.calls.at(name)](const Inputs& x, const json& args) -> Outputs {
      if (!args.contains("dtype")) return call(x, args);
      const Axes axes = read<Axes>(args.contains("axes") ? args["axes"] : json());
      return {in_type(x[0], axes, args.value("keepdim", false), dtype(args))};
    });
  };
  reduction("sum", sum, sum, true);
  reduction("mean", mean, mean, false);
  reduction("prod", prod, prod, true);
  t.reduction("amax", amax, false, apart);
  t.reduction("amin", amin, false, apart);
  t.reduction("logsumexp", logsumexp, false);
  t.rule(FORMULA(sum(a.t[0])), "{t0}.sum()", any_value);
  t.rule(FORMULA(prod(a.t[0])), "{t0}.prod()", any_value);
  t.rule(FORMULA(mean(a.t[0])), "{t0}.mean()", not_empty);
  t.call("var", var, "axes keepdim correction=1");
  t.call("std", std, "axes keepdim correction=1");
  for (double correction : {1, 0}) {
    t.samples("var", false, false,
              [=](const Tensor& x, const Axes& axes, bool keepdim) { return var(x, axes, keepdim, correction); });
    t.samples("std", false, false,
              [=](const Tensor& x, const Axes& axes, bool keepdim) { return std(x, axes, keepdim, correction); });
  }
  const DrawRule spread_out = and_integer(with_long_axis, 0, 1);
  t.rule("var({t0}, {{i0}}, false, {i1})", "{t0}.var({i0}, unbiased=bool({i1}))", spread_out,
         [](const A& a) { return var(a.t[0], {a.i(0)}, false, static_cast<double>(a.i(1))); });
  t.rule("tapegrad::std({t0}, {{i0}}, true, {i1})", "{t0}.std({i0}, unbiased=bool({i1}), keepdim=True)", spread_out,
         apart, [](const A& a) { return std(a.t[0], {a.i(0)}, true, static_cast<double>(a.i(1))); });
  t.add("mean", "expanded", {spread({3, 1}).expand({3, 4})}, {{"axes", {0}}});
  t.add("sum", "expanded", {spread({3, 1}).expand({3, 4})}, {{"axes", {1}}});
  t.add("amax", "large", {spread({3, 4}, -1e3, 1e3)}, {{"axes", {1}}});
  t.add("logsumexp", "wide", {spread({2, 4}, -20, 20)}, {{"axes", {1}}});
  for (int zeros : {1, 2, 3}) {
    std::vector<double> factors = spread({2, 4}).to_vector<double>();
    for (int i = 0; i < zeros; ++i) factors[static_cast<std::size_t>(i)] = 0;
    const Tensor x = tensor(factors, {2, 4});
    t.add("prod", std::to_string(zeros) + " zeros in a row", {x}, {{"axes", {1}}});
    t.add("prod", std::to_string(zeros) + " zeros among all", {x}, kNone, {.zero_gradient = zeros > 1});
    t.add("prod", std::to_string(zeros) + " zeros, columns", {x}, {{"axes", {0}}});
  }
  t.call("count_nonzero", count_nonzero, "axes keepdim");
  t.call("sum_to", sum_to, "to");
  for (const LaidOut& a : layouts(3, 4)) {
    t.add("sum_to", a.label + ", row", {a.x}, {{"to", {4}}});
    t.add("sum_to", a.label + ", column", {a.x}, {{"to", {3, 1}}});
    t.add("sum_to", a.label + ", scalar", {a.x}, {{"to", json::array()}});
  }
  t.add("sum_to", "[2, 3, 4] to [3, 1]", {spread({2, 3, 4})}, {{"to", {3, 1}}});
  t.add("sum_to", "[0, 3] to [3]", {spread({0, 3})}, {{"to", {3}}});
  if (!t.large()) return;
  t.add_large("sum_to", {numbers({kRows, kColumns})}, {{"to", {kColumns}}});
  t.add_large("sum_to", {numbers({kRows, kColumns})}, {{"to", {kRows, 1}}});
}

void add_norms_of_vectors(CaseTable& t) {
  t.call("norm", norm, "p=2 axes keepdim");
  for (double p : {2., 1., 3., 1.5, 0.5, -1., HUGE_VAL, -HUGE_VAL}) {
    const bool of_none = p > 0 && p < HUGE_VAL;
    // |x|^p is not smooth near 0, except for these powers.
    const double shift = p == 1 || p == 2 || std::abs(p) == HUGE_VAL ? 0 : 3;
    t.samples("norm", of_none, true, [p, shift](const Tensor& x, const Axes& axes, bool keepdim) {
      return norm(x + shift, p, axes, keepdim);
    });
  }
  const Smooth not_zero = first_away_from({0});
  // PyTorch computes the order of a norm in float32.
  t.rule(FORMULA(norm(a.t[0], 2, {a.i(0)})), "torch.linalg.vector_norm({t0}, 2, {i0})", with_filled_axis, not_zero);
  t.rule("norm({t0}, {i1} * 0.25, {{i0}}, true)", "torch.linalg.vector_norm({t0}, {i1} * 0.25, {i0}, keepdim=True)",
         and_integer(with_filled_axis, 4, 14), not_zero,
         [](const A& a) { return norm(a.t[0], static_cast<double>(a.i(1)) * 0.25, {a.i(0)}, true); });
  t.call("normalize", normalize, "p=2 axis=1 eps=1e-12");
  t.rule(FORMULA(normalize(a.t[0], 2, a.i(0))), "F.normalize({t0}, dim={i0})", with_filled_axis, not_zero);
  t.call("pairwise_distance", pairwise_distance, "p=2 eps=1e-6 keepdim");
  t.call("cosine_similarity", cosine_similarity, "axis=1 eps=1e-8");
  t.call("cdist", cdist, "p=2");
  for (double p : {2., 1., HUGE_VAL, 3., 1.5, 0.5}) {
    const json of_p{{"p", std::isinf(p) ? json("inf") : json(p)}};
    const std::string label = ", p = " + std::to_string(p);
    const bool even = p == 1 || p == 2 || std::isinf(p);  // else |x|^p is not smooth near 0
    const double low = even ? -3.1 : 3, high = even ? 2.3 : 8;
    for (const LaidOut& a : layouts(3, 4)) t.add("cdist", a.label + label, {a.x, spread({2, 4}, low, high)}, of_p);
    t.add("cdist", "[2, 1, 2, 3], [2, 4, 3]" + label, {spread({2, 1, 2, 3}), spread({2, 4, 3}, low, high)}, of_p);
    t.add("cdist", "nothing" + label, {spread({0, 3}), spread({2, 3})}, of_p);
  }
  t.rule(FORMULA(cdist(a.t[0], a.t[0] * 2 + 0.5)), "torch.cdist({t0}, {t0} * 2 + 0.5)", matrices, [](const A& a) {
    return a.t[0].size(-1) == 0 || away_from(norm(a.t[0].unsqueeze(-2) - (a.t[0] * 2 + 0.5).unsqueeze(-3), 2, -1), {0});
  });
  t.add_large("cdist", {numbers({701, 37}), numbers({103, 37}, 0, 3)});
  const DrawRule vectors = [](const Draw& d, Call& c) { return twins(d, c) && d.last(c).dim() > 0; };
  t.rule(FORMULA(pairwise_distance(a.t[0], a.t[1])), "F.pairwise_distance({t0}, {t1})", vectors, first_two_differ);
  t.rule(FORMULA(cosine_similarity(a.t[0], a.t[1], -1)), "F.cosine_similarity({t0}, {t1}, -1)", vectors,
         [](const A& a) { return away_from(a.t[0], {0}) && away_from(a.t[1], {0}); });
}

void add_scans(CaseTable& t) {
  t.along_axis("cumsum", cumsum, cumsum);
  t.along_axis("cumprod", cumprod, cumprod);
  t.function("logcumsumexp", logcumsumexp, "axis", ".logcumsumexp", with_filled_axis);
  t.function("cummax", cummax, "axis", ".cummax", with_filled_axis, apart);
  t.function("cummin", cummin, "axis", ".cummin", with_filled_axis, apart);
  const auto all = [&](const std::string& label, const Tensor& x, int64_t axis) {
    for (const char* op : {"cumprod", "logcumsumexp", "cummax", "cummin"}) t.add(op, label, {x}, {{"axis", axis}});
    t.add("recurrence", label, {x}, [axis](auto v) {
      return pulled_back([axis](const Tensor& factors) { return cumprod(factors, axis); }, spread(v[0].shape(), -1, 2),
                         v[0]);
    });
  };
  for (const LaidOut& a : layouts(3, 4)) {
    all(a.label, a.x, -1);
    all(a.label + ", columns", a.x, 0);
    t.add("cumsum", a.label, {a.x}, {{"axis", 1}});
    t.add("cumsum", a.label + ", rows", {a.x}, {{"axis", 0}});
  }
  all("[19]", spread({19}), 0);
  all("[1]", spread({1}), 0);
  all("[2, 3, 2]", spread({2, 3, 2}), 1);
  all("[0, 2]", spread({0, 2}), 0);
  all("[2, 0]", spread({2, 0}), 0);
  all("scalar", spread({}), 0);
  t.add("cumsum", "middle axis", {spread({2, 3, 2})}, {{"axis", 1}});
  t.add("cumsum", "[0, 2]", {spread({0, 2})}, {{"axis", 0}});
  for (const std::vector<double>& factors :
       {std::vector<double>{2, 0, 3, -1}, {0, 2, 0, 1}, {0, 0, 0, 0}, {1.5, 2, 3, 0}}) {
    t.add("cumprod", "zeros", {tensor(factors, {4})}, {{"axis", 0}});
  }
  if (!t.large()) return;
  const Tensor x = numbers({kRows, kColumns}), positive = numbers({kRows, kColumns}, 0.3, 2);
  for (int axis : {0, 1}) {
    const json along{{"axis", axis}};
    t.add_large("cumsum", {x}, along);
    t.add_large("cumprod", {positive}, along);
    t.add_large("recurrence", {positive}, [axis](auto v) { return cumprod(v[0], axis); });
    t.add_large("logcumsumexp", {numbers({kColumns, kRows}).t()}, along);
    t.add_large("cummax", {x}, along);
    t.add_large("cummin", {x}, along);
  }
}

}  // namespace

void add_reduction_cases(CaseTable& table) {
  add_reductions(table);
  add_norms_of_vectors(table);
  add_scans(table);
}

}  // namespace tapegrad::tasks
