// How the table of cases is filled: calls, samples, large inputs and rules, also for whole families of functions.
#include <fmt/format.h>
#include <tapegrad/checks/cases/case.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

// A value of a random program, `of`, moved between the bounds of a function's samples: as a text, and as a tensor.
std::string moved(const Unary& f, std::string_view of, std::string_view sigmoid_of_it) {
  if (f.domain == Domain::everything) return std::string(of);
  return fmt::format("{} * {} + {}", sigmoid_of_it, f.high - f.low, f.low);
}
Tensor moved(const Unary& f, const Tensor& x) {
  return f.domain == Domain::everything ? x : sigmoid(x) * (f.high - f.low) + f.low;
}

}  // namespace

OpSamples& CaseTable::of(std::string_view op) {
  const auto at = std::find_if(ops.begin(), ops.end(), [&](const OpSamples& s) { return s.op == op; });
  return at != ops.end() ? *at : ops.emplace_back(OpSamples{.op = std::string(op)});
}

std::pair<std::string, Function> CaseTable::called(std::string_view name, const json& attributes) const {
  const auto at = records_.find(std::string(name));
  const OpCall& f = calls.at(std::string(name));
  return {at == records_.end() ? std::string(name) : at->second, [f, attributes](std::span<const Tensor> x) {
            return f({x.begin(), x.end()}, attributes)[0];
          }};
}

void CaseTable::call(const std::string& name, OpCall f, const std::string& op) {
  calls[name] = std::move(f);
  if (!op.empty()) records_[name] = op;
}

void CaseTable::along_axis(const std::string& name, Tensor (*f)(const Tensor&, int64_t),
                           Tensor (*in_type)(const Tensor&, int64_t, DType)) {
  function(name, f, "axis", "." + name, with_filled_axis);
  call(name, [f, in_type](const Inputs& x, const json& args) -> Outputs {
    const int64_t axis = integer(args, "axis");
    return {args.contains("dtype") ? in_type(x[0], axis, dtype(args)) : f(x[0], axis)};
  });
}

void CaseTable::rule(std::string cpp, std::string python, DrawRule draw, Smooth smooth,
                     std::function<Tensor(const Arguments&)> run) {
  rules.push_back({std::move(cpp), std::move(python), std::move(draw), std::move(run), std::move(smooth)});
}

void CaseTable::add(std::string_view op, std::string_view label, std::vector<Tensor> inputs, Function f,
                    GradcheckOptions options) {
  if (!large()) of(op).samples.push_back({std::string(label), std::move(inputs), std::move(f), options});
}

void CaseTable::add(std::string_view name, std::string_view label, std::vector<Tensor> inputs, const json& attributes,
                    GradcheckOptions options) {
  auto [op, f] = called(name, attributes);
  add(op, label, std::move(inputs), std::move(f), options);
}

void CaseTable::add_check(std::string_view op, std::string_view label, std::vector<Tensor> inputs, Function f,
                          GradcheckOptions options) {
  if (!large()) of(op).samples.push_back({std::string(label), std::move(inputs), std::move(f), options, false});
}

void CaseTable::add_per_example(std::string_view op, std::string_view label, std::vector<Tensor> inputs, Function f) {
  if (!large()) of(op).samples.push_back({std::string(label), std::move(inputs), std::move(f), {}, false, true});
}

void CaseTable::add_large(std::string_view op, std::vector<Tensor> inputs, Function f) {
  if (large()) larges.push_back({std::string(op), std::move(inputs), std::move(f)});
}

void CaseTable::add_large(std::string_view name, std::vector<Tensor> inputs, const json& attributes) {
  auto [op, f] = called(name, attributes);
  add_large(op, std::move(inputs), std::move(f));
}

void CaseTable::unary(const std::string& name, UnaryFunction f, const Unary& of) {
  const std::string op = of.op.empty() ? name : of.op;
  calls.try_emplace(name, [f](const Inputs& x, const json&) -> Outputs { return {f(x[0])}; });
  unaries.emplace(name, of);
  samples(op, of.low, of.high, {.zero_gradient = of.steps || of.zero_gradient}, f);
  Smooth smooth;
  if (!of.kinks.empty()) smooth = first_away_from(of.kinks);
  if (of.steps) smooth = [](const Arguments& a) { return away_from(a.t[0] - round(a.t[0]), {0, 0.5, -0.5}); };
  rule(name + "(" + moved(of, "{t0}", "sigmoid({t0})") + ")",
       of.pytorch + "(" + moved(of, "{t0}", "{t0}.sigmoid()") + ")", any_value, std::move(smooth),
       [f, of](const Arguments& a) { return f(moved(of, a.t[0])); });
}

void CaseTable::samples(const std::string& op, double low, double high, const GradcheckOptions& options,
                        const UnaryFunction& f) {
  const Function call = [f](std::span<const Tensor> x) { return f(x[0]); };
  if (large()) {
    const Tensor x = numbers({kRows, kColumns}, low, high);
    add_large(op, {x}, call);
    add_large(op, {x.slice(1, 0, kAll, 2)}, call);
    return add_large(op, {numbers({kColumns, kRows}, low, high).t()}, call);
  }
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{5}, Shape{0}, Shape{2, 0, 3}, Shape{2, 3, 2}, Shape{37}}) {
    add(op, str(shape), {spread(shape, low, high)}, call, options);
  }
  for (const LaidOut& laid : layouts(3, 4, low, high)) add(op, laid.label, {laid.x}, call, options);
  add(op, "reversed columns", {spread({3, 4}, low, high).slice(1, kAll, kAll, -1)}, call, options);
  add(op, "permuted", {spread({2, 3, 2}, low, high).permute({2, 0, 1})}, call, options);
  add(op, "expanded", {spread({3, 1}, low, high).expand({3, 4})}, call, options);
  add(op, "expanded scalar", {spread({}, low, high).expand({5})}, call, options);
}

void CaseTable::samples(const std::string& op, const BinaryFunction& f, double low, double high, int64_t at_least) {
  const Function call = [f](std::span<const Tensor> x) { return f(x[0], x[1]); };
  if (large()) {
    for (const Shape& shape : {Shape{kColumns, kRows}, Shape{kColumns, 1}, Shape{1, kRows}})
      add_large(op, {numbers({kRows, kColumns}, low, high), numbers(shape, low, high).t()}, call);
    return;
  }
  // In the other direction and from a slightly other range, so that no element of a equals one of b.
  const double from = high + 0.05, to = low + 0.03;
  const auto pair = [&](const Shape& a, const Shape& b) {
    if (broadcast(op, a, b).numel() < at_least) return;
    add(op, fmt::format("{}, {}", str(a), str(b)), {spread(a, low, high), spread(b, from, to)}, call);
  };
  const Shape shapes[] = {{}, {1}, {3}, {2, 3}, {2, 1}, {1, 3}, {1, 1}};
  for (const Shape& a : shapes) {
    for (const Shape& b : shapes) pair(a, b);
  }
  const Shape others[][2] = {{{2, 1, 3}, {4, 1}}, {{4, 1}, {2, 1, 3}}, {{2, 1, 2, 1}, {3, 1, 2}},
                             {{0}, {1}},          {{}, {0}},           {{2, 0}, {2, 1}},
                             {{0, 3}, {3}},       {{1, 3}, {0, 3}},    {{37}, {37}}};
  for (const auto& [a, b] : others) pair(a, b);
  for (const LaidOut& a : layouts(3, 4, low, high)) {
    for (const LaidOut& b : layouts(3, 4, from, to)) {
      if (a.label != b.label || a.label != "contiguous") add(op, a.label + ", " + b.label, {a.x, b.x}, call);
    }
    add(op, a.label + ", row", {a.x, spread({4}, from, to)}, call);
    add(op, "column, " + a.label, {spread({3, 1}, from, to), a.x}, call);
  }
  add(op, "expanded, expanded", {spread({3, 1}, low, high).expand({3, 4}), spread({4}, from, to).expand({3, 4})}, call);
}

void CaseTable::samples(const std::string& op, bool empty, bool of_one,
                        const std::function<Tensor(const Tensor&, const Axes&, bool)>& f) {
  const auto over = [&](const std::string& label, const Tensor& x, const Axes& axes, bool keepdim = false) {
    add(op, label, {x}, [f, axes, keepdim](std::span<const Tensor> v) { return f(v[0], axes, keepdim); });
  };
  if (large()) {
    for (const Axes& axes : {Axes{}, Axes{0}, Axes{1}}) {
      for (const Tensor& x :
           {numbers({kRows, kColumns}), numbers({kColumns, kRows}).t(), numbers({7, 43, 1009}), numbers({300'007})}) {
        if (axes.rank() && axes[0] >= x.dim()) continue;
        add_large(op, {x * 0.01 + 1}, [f, axes](std::span<const Tensor> v) { return f(v[0], axes, false); });
      }
    }
    return;
  }
  for (const Axes& axes : {Axes{}, Axes{0}, Axes{1}, Axes{-1}, Axes{0, 1}, Axes{0, 2}, Axes{-1, -2}, Axes{2, 0, 1}}) {
    for (bool keepdim : {false, true}) {
      const std::string label = "over " + str(axes) + (keepdim ? ", kept" : "");
      over(label, spread({2, 3, 2}), axes, keepdim);
      if (keepdim) continue;
      over(label + ", permuted", spread({2, 2, 3}).permute({1, 2, 0}), axes);
      over(label + ", strided", spread({2, 3, 4}).slice(2, 0, kAll, 2), axes);
      over(label + ", reversed", spread({2, 3, 2}).slice(1, kAll, kAll, -1), axes);
    }
  }
  over("[37]", spread({37}), 0);
  over("rows of 19", spread({2, 19}), 1);
  over("columns of 19", spread({19, 2}), 0);
  if (of_one) {
    over("scalar", spread({}), {});
    over("[1]", spread({1}), 0);
    over("axis of one", spread({3, 1}), 1);
  }
  over("no row is left", spread({0, 3}), 1);
  if (empty) {
    over("of nothing", spread({0}), {});
    over("of empty columns", spread({0, 3}), 0);
  }
}

void CaseTable::reduction(const std::string& name, ReductionFunction f, bool empty, Smooth smooth) {
  function(name, f, "axes keepdim", "." + name, with_axis_and_flag, std::move(smooth));
  samples(name, empty, true, f);
}

}  // namespace tapegrad::tasks
