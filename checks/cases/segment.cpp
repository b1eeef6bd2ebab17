// Cases of segments, sparse matrices, linear recurrences, sets and counts.
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tapegrad.h>

namespace tapegrad::tasks {
namespace {

using A = Arguments;
using Segmented = Tensor (*)(const Tensor&, const Tensor&, int64_t);

constexpr std::pair<const char*, Segmented> kSegmented[] = {
    {"segment_sum", segment_sum}, {"segment_mean", segment_mean},       {"segment_max", segment_max},
    {"segment_min", segment_min}, {"segment_softmax", segment_softmax}, {"segment_logsumexp", segment_logsumexp}};

void add_segments(CaseTable& t) {
  // Of five segments, 1 and 4 are empty; their extremes are infinite, which differences cannot follow.
  const Tensor with_empty = tensor({3, 0, 3, 2, 0, 3}), full = tensor({2, 0, 1, 2, 0, 2});
  for (const auto& [name, f] : kSegmented) {
    const std::string op = name;
    t.call(op, f, "segments");
    const bool finite = op == "segment_sum" || op == "segment_mean" || op == "segment_softmax";
    const Tensor index = finite ? with_empty : full;
    const json segments{{"segments", finite ? 5 : 3}};
    for (const LaidOut& a : layouts(6, 3)) t.add(op, a.label, {a.x, index}, segments);
    t.add(op, "sorted", {spread({6, 2}), tensor({0, 0, 1, 2, 2, 2})}, {{"segments", 3}});
    t.add(op, "vector", {spread({6}), index}, segments);
    t.add(op, "three axes", {spread({2, 6, 3}).transpose(0, 1), index}, segments);
    t.add(op, "wide", {spread({6, 19}), index}, segments);
    t.add(op, "expanded", {spread({6, 1}).expand({6, 2}), index}, segments);
    t.add(op, "one segment", {spread({6, 2}), zeros({6}, kInt64)}, {{"segments", 1}});
    t.add(op, "strided index", {spread({3, 2}), tensor({1, 7, 0, 7, 1, 7}).slice(0, 0, kAll, 2)}, {{"segments", 2}});
    t.add(op, "no columns", {spread({6, 0}), index}, segments);
    if (finite) t.add(op, "no rows", {spread({0, 3}), zeros({0}, kInt64)}, segments);
    if (!t.large()) continue;
    for (const Shape& shape : {Shape{3001, 67}, Shape{20'011}, Shape{2003, 3, 5}, Shape{151, 1003}}) {
      for (const int64_t count : {3, 700}) {
        const int64_t n = shape[0];
        t.add_large(op, {numbers(shape), remainder(arange(n), static_cast<double>(std::min(n, count)))},
                    {{"segments", std::min(n, count)}});
      }
    }
    t.add_large(op, {numbers({67, 3001}).t(), cat({arange(100), ids({2901}, 100)}, 0)}, {{"segments", 100}});
  }
}

void add_segment_rules(CaseTable& t) {
  // Every segment has a row: rows 0 .. segments - 1 are in segments of their own numbers.
  const DrawRule draw =
      then(operand([](const Tensor& x) { return x.dim() > 0 && x.size(0) > 0; }), [](const Draw& d, Call& c) {
        const int64_t rows = d.last(c).size(0), segments = d.between(1, rows);
        c.i = {segments};
        c.c = {cat({arange(segments), d.index({rows - segments}, segments)}, 0)};
      });
  const char* const kIn = "({t0}, {c0}, {i0})";
  // With `include_self` false, what is reduced into does not count.
  const auto reduce = [](const std::string& kind) {
    return "{t0}.new_zeros([{i0}, *{t0}.shape[1:]]).index_reduce(0, {c0}, {t0}, '" + kind + "', include_self=False)";
  };
  const std::string sum = "{t0}.new_zeros([{i0}, *{t0}.shape[1:]]).index_add(0, {c0}, ";
  const auto rule = [&](const std::string& name, const std::string& python, Segmented f, Smooth smooth = {}) {
    t.rule(name + kIn, python, draw, std::move(smooth), [f](const A& a) { return f(a.t[0], a.c(0), a.i(0)); });
  };
  rule("segment_sum", sum + "{t0})", segment_sum);
  rule("segment_mean", reduce("mean"), segment_mean);
  rule("segment_max", reduce("amax"), segment_max, apart);
  rule("segment_min", reduce("amin"), segment_min, apart);
  rule("segment_logsumexp", sum + "{t0}.exp()).log()", segment_logsumexp);
  rule("segment_softmax", "(lambda e, s: e / s[{c0}])({t0}.exp(), " + sum + "{t0}.exp()))", segment_softmax);
}

// A sparse matrix [rows, columns] with elements in about every third place, some columns repeated, and an empty row.
struct Sparse {
  Tensor offsets, columns;
};
Sparse some_sparse(int64_t rows, int64_t columns) {
  std::vector<int64_t> offsets{0}, places;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = (i * 5) % columns; i != 1 && k < columns; k += 3) places.push_back((k * 7 + i) % columns);
    if (i == 2) places.push_back(places.back());
    offsets.push_back(static_cast<int64_t>(places.size()));
  }
  return {tensor(offsets, {rows + 1}), tensor(places, {static_cast<int64_t>(places.size())})};
}

void add_sparse(CaseTable& t) {
  t.call("sparse_matmul", sparse_matmul);
  t.call("sampled_matmul", sampled_matmul);
  const Sparse m = some_sparse(4, 5);
  const int64_t n = m.columns.numel();
  for (const LaidOut& a : layouts(5, 3)) {
    t.add("sparse_matmul", a.label, {m.offsets, m.columns, spread({n}), a.x});
    t.add("sampled_matmul", a.label + ", right", {m.offsets, m.columns, spread({4, 3}, -1, 1), a.x});
  }
  for (const LaidOut& a : layouts(4, 3)) {
    t.add("sampled_matmul", a.label, {m.offsets, m.columns, a.x, spread({5, 3}, -1, 1)});
  }
  t.add("sparse_matmul", "strided values",
        {m.offsets, m.columns, spread({2 * n}).slice(0, 0, kAll, 2), spread({5, 2})});
  t.add("sparse_matmul", "vector", {m.offsets, m.columns, spread({n}), spread({5})});
  t.add("sparse_matmul", "wide", {m.offsets, m.columns, spread({n}), spread({5, 19})});
  t.add("sparse_matmul", "no elements", {zeros({3}, kInt64), zeros({0}, kInt64), spread({0}), spread({5, 2})}, kNone,
        {.zero_gradient = true});
  t.add("sparse_matmul", "no columns", {m.offsets, m.columns, spread({n}), spread({5, 0})});
  t.add("sampled_matmul", "wide", {m.offsets, m.columns, spread({4, 19}), spread({5, 19}, -1, 1)});
  t.add("sampled_matmul", "no elements", {zeros({3}, kInt64), zeros({0}, kInt64), spread({2, 3}), spread({5, 3})},
        kNone, {.zero_gradient = true});
  // As random programs call them: rows 0 and 1 of a matrix with three elements.
  const auto draw = then(operand([](const Tensor& x) { return x.dim() == 2 && x.size(0) >= 2; }),
                         [](const Draw& d, Call& c) { c.c = {d.index({3}, d.last(c).size(0))}; });
  t.rule(
      FORMULA(sparse_matmul(tensor({0, 1, 3}), a.c(0), sin(a.t[0].flatten().slice(0, 0, 1)).expand({3}), a.t[0])),
      "torch.stack([{t0}.flatten()[0].sin() * {t0}[{c0}[:1]].sum(0), {t0}.flatten()[0].sin() * {t0}[{c0}[1:]].sum(0)])",
      [draw](const Draw& d, Call& c) { return draw(d, c) && d.last(c).size(1) > 0; });
  t.rule(FORMULA(sampled_matmul(tensor({0, 1, 3}), a.c(0), a.t[0].slice(0, 0, 2), a.t[0])),
         "({t0}[[0, 1, 1]] * {t0}[{c0}]).sum(1)", draw);
  if (!t.large()) return;
  const Sparse large = some_sparse(700, 301);
  const int64_t count = large.columns.numel();
  for (const int64_t width : {1, 67, 128}) {
    t.add_large("sparse_matmul", {large.offsets, large.columns, numbers({count}), numbers({301, width})});
    t.add_large("sampled_matmul", {large.offsets, large.columns, numbers({700, width}), numbers({301, width})});
  }
}

OpCall scan_call() {
  return [](const Inputs& x, const json& args) -> Outputs {
    return {linear_scan(x[0], x[1], integer(args, "axis"), input(x, 2), args.value("reverse", false))};
  };
}

void add_linear_scans(CaseTable& t) {
  t.call("linear_scan", scan_call());
  for (const bool reverse : {false, true}) {
    const std::string way = reverse ? ", reversed" : "";
    const auto along = [&](int axis) { return json{{"axis", axis}, {"reverse", reverse}}; };
    for (const LaidOut& a : layouts(4, 3, -1, 1)) {
      t.add("linear_scan", a.label + ", rows" + way, {a.x, spread({4, 3}, -0.9, 1.1)}, along(0));
      t.add("linear_scan", a.label + ", columns" + way, {spread({4, 3}, -0.9, 1.1), a.x}, along(-1));
      t.add("linear_scan", a.label + ", initial" + way, {a.x, spread({4, 3}, -0.9, 1.1), spread({3}, -1, 1)}, along(0));
    }
    t.add("linear_scan", "middle axis" + way, {spread({2, 3, 11}, -1, 1), spread({2, 3, 11}), spread({2, 11})},
          along(1));
    t.add("linear_scan", "one factor" + way, {spread({}, 0.5, 1), spread({3, 4}), spread({3, 1}).squeeze(1)}, along(1));
    t.add("linear_scan", "terms broadcast" + way, {spread({3, 1, 2}, -1, 1), spread({4, 1}), spread({})}, along(1));
    t.add("linear_scan", "one step" + way, {spread({1, 9}), spread({1, 9}, 0, 1), spread({9}, 0, 2)}, along(0));
    t.add("linear_scan", "no steps" + way, {spread({0, 3}), spread({0, 3})}, along(0));
    t.add("linear_scan", "no lines" + way, {spread({3, 0}), spread({3, 0})}, along(0));
    t.add("linear_scan", "vector" + way, {spread({9}, -1, 1), spread({9})}, along(0));
    if (!t.large()) continue;
    const auto large = [&](const Shape& shape, int axis, const Shape& state) {
      t.add_large("linear_scan", {numbers(shape, 0, 1), numbers(shape), numbers(state)}, along(axis));
    };
    large({kRows, kColumns}, 0, {kColumns});
    large({kRows, kColumns}, 1, {kRows});
    large({5, 67, 1033}, 1, {5, 1033});
    large({97, 211, 3}, 1, {97, 3});
    t.add_large("linear_scan", {numbers({kColumns, kRows}, 0, 1).t(), numbers({1, kColumns})}, along(0));
  }
  t.rule(FORMULA(linear_scan(tanh(a.t[0]), a.t[0], a.i(0))),
         "torch.stack([h for _, h in __import__('itertools').accumulate(zip({t0}.tanh().unbind({i0}), "
         "{t0}.unbind({i0})), lambda h, s: (0, s[0] * h[1] + s[1]))], {i0})",
         with_filled_axis);
}

void add_selective_scans(CaseTable& t) {
  const auto scan = [](const Inputs& x, const json&) -> Outputs {
    return {selective_scan(x[0], x[1], x[2], x[3], x[4], input(x, 5))};
  };
  t.call("selective_scan", scan, "linear_scan");
  for (const LaidOut& u : layouts(4, 3, -1, 1)) {
    const Tensor x = u.x.unsqueeze(0);  // [1, 4, 3]
    t.add("selective_scan", u.label,
          {x, spread({1, 4, 3}, 0.1, 1), spread({3, 2}, -2, -0.1), spread({1, 4, 2}), spread({1, 4, 2}, -1, 2),
           spread({3})});
  }
  t.add("selective_scan", "no skip",
        {spread({2, 3, 2}), spread({2, 3, 2}, 0.1, 1), spread({2, 2}, -1, -0.1), spread({2, 3, 2}, 0, 1),
         spread({2, 3, 2}, 1, 2)});
}

Outputs results(const Unique& y) { return {y.values, y.inverse, y.counts}; }
Outputs results(const Histogram& y) { return {y.counts, y.edges}; }

void add_sets(CaseTable& t) {
  t.call("unique", [](const Inputs& x, const json&) { return results(unique(x[0])); });
  t.call("unique_consecutive", [](const Inputs& x, const json&) { return results(unique_consecutive(x[0])); });
  t.call("bincount", [](const Inputs& x, const json& args) -> Outputs {
    const int64_t minimum = integer(args, "minimum");
    return {x.size() > 1 ? bincount(x[0], x[1], minimum) : bincount(x[0], minimum)};
  });
  t.call("isin", isin, "invert");
  t.call("searchsorted", [](auto& x, auto& args) { return searchsorted(x[0], x[1], args.value("right", false)); });
  t.call("bucketize", [](auto& x, auto& args) { return bucketize(x[0], x[1], args.value("right", false)); });
  t.call("argsort", argsort, "axis=-1 descending");
  t.call("histogram", [](const Inputs& x, const json& args) -> Outputs {
    if (!args.contains("bins")) return results(histogram(x[0], x[1], input(x, 2)));
    std::optional<std::pair<double, double>> range;
    if (args.contains("low")) range = {args["low"].get<double>(), args["high"].get<double>()};
    return results(histogram(x[0], args["bins"].get<int64_t>(), range, input(x, 1)));
  });
}

}  // namespace

void add_segment_cases(CaseTable& table) {
  add_segments(table);
  add_segment_rules(table);
  add_sparse(table);
  add_linear_scans(table);
  add_selective_scans(table);
  add_sets(table);
}

}  // namespace tapegrad::tasks
