// The table of samples, how one is checked, and the numbers that samples are made of.
#include <fmt/format.h>
#include <tapegrad/tasks/gradcheck/op_samples.h>

#include <algorithm>
#include <optional>

namespace tapegrad::tasks {
namespace {

// 0 .. n-1 in an order without pattern, always the same for the same n.
std::vector<int64_t> shuffled(int64_t n) {
  std::vector<int64_t> order(static_cast<std::size_t>(n));
  for (int64_t i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = i;
  uint64_t state = 0x2545F4914F6CDD1Du;
  for (std::size_t i = order.size(); i > 1; --i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::swap(order[i - 1], order[(state >> 33) % i]);
  }
  return order;
}

bool records(std::string_view op, const OpSample& sample) {
  Tape tape;
  std::vector<Tensor> leaves;
  for (const Tensor& x : sample.inputs) leaves.push_back(is_floating(x.dtype()) ? x.as_leaf() : x);
  const Tensor y = sample.f(leaves);
  for (int64_t i = 0; i < tape.size(); ++i) {
    if (tape.op_name(i) == op) return true;
  }
  return false;
}

}  // namespace

const std::vector<OpSamples>& op_samples() {
  static const std::vector<OpSamples> all = [] {
    SampleTable table;
    add_elementwise_samples(table);
    add_function_samples(table);
    add_view_samples(table);
    add_shape_samples(table);
    add_index_samples(table);
    add_scatter_samples(table);
    add_reduction_samples(table);
    add_product_samples(table);
    add_loss_samples(table);
    add_pooling_samples(table);
    add_convolution_samples(table);
    add_recurrent_samples(table);
    add_linalg_samples(table);
    add_window_samples(table);
    add_long_attention_samples(table);
    return std::move(table.ops);
  }();
  return all;
}

const Op* find_op(std::string_view name) {
  const auto at = std::ranges::find(Op::all(), name, &Op::name);
  return at != Op::all().end() ? *at : nullptr;
}

std::vector<std::string> ops_without_samples() {
  std::vector<std::string> missing;
  for (const Op* op : Op::all()) {
    const bool known = std::any_of(op_samples().begin(), op_samples().end(),
                                   [&](const OpSamples& s) { return s.op == op->name && !s.samples.empty(); });
    if (!known) missing.emplace_back(op->name);
  }
  return missing;
}

std::vector<std::string> samples_without_op() {
  std::vector<std::string> unknown;
  for (const OpSamples& s : op_samples()) {
    if (!find_op(s.op)) unknown.push_back(s.op);
  }
  return unknown;
}

GradcheckReport check_sample(std::string_view op, const OpSample& sample) {
  GradcheckOptions options = sample.options;
  const Op* found = find_op(op);
  if (found && !found->twice) options.refuses = found->name;
  try {
    if (!records(op, sample)) return {.ok = false, .text = fmt::format("the sample does not record {}", op)};
    return gradcheck(sample.f, sample.inputs, options);
  } catch (const Error& error) {
    return {.ok = false, .text = error.what()};
  }
}

OpSamples& SampleTable::of(std::string_view op) {
  const auto at = std::find_if(ops.begin(), ops.end(), [&](const OpSamples& s) { return s.op == op; });
  return at != ops.end() ? *at : ops.emplace_back(OpSamples{.op = std::string(op)});
}

void SampleTable::add(std::string_view op, std::string_view label, std::vector<Tensor> inputs, Function f,
                      GradcheckOptions options) {
  of(op).samples.push_back({std::string(label), std::move(inputs), std::move(f), options});
}

Tensor spread(const Shape& shape, double low, double high) {
  const Tensor x = Tensor::empty(shape, kFloat64);
  const std::vector<int64_t> order = shuffled(x.numel());
  const double count = static_cast<double>(x.numel());
  for (std::size_t i = 0; i < order.size(); ++i) {
    // 0.37: no number falls on 0, on an integer or on another tensor's number.
    x.mutable_data<double>()[i] = low + (static_cast<double>(order[i]) + 0.37) * (high - low) / count;
  }
  return x;
}

Tensor some_ids(const Shape& shape, int64_t bound) {
  const Tensor x = Tensor::empty(shape, kInt64);
  const std::vector<int64_t> order = shuffled(x.numel());
  for (std::size_t i = 0; i < order.size(); ++i) x.mutable_data<int64_t>()[i] = order[i] % bound;
  return x;
}

Tensor some_bools(const Shape& shape) {
  const Tensor x = Tensor::empty(shape, kBool);
  const std::vector<int64_t> order = shuffled(x.numel());
  for (std::size_t i = 0; i < order.size(); ++i) x.mutable_data<bool>()[i] = order[i] % 3 != 0;
  return x;
}

std::vector<LaidOut> layouts(int64_t rows, int64_t columns, double low, double high) {
  return {{"contiguous", spread({rows, columns}, low, high)},
          {"transposed", spread({columns, rows}, low, high).t()},
          {"every second column", spread({rows, 2 * columns}, low, high).slice(1, 0, kAll, 2)},
          {"reversed rows", spread({rows, columns}, low, high).slice(0, kAll, kAll, -1)}};
}

void add_unary(SampleTable& table, std::string_view op, const std::function<Tensor(const Tensor&)>& f, double low,
               double high, const GradcheckOptions& options) {
  table.of(op).unary.push_back({f, low, high});
  const auto call = [f](std::span<const Tensor> x) { return f(x[0]); };
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{5}, Shape{0}, Shape{2, 0, 3}, Shape{2, 3, 2}, Shape{37}}) {
    table.add(op, str(shape), {spread(shape, low, high)}, call, options);
  }
  for (const LaidOut& laid : layouts(3, 4, low, high)) table.add(op, laid.label, {laid.x}, call, options);
  table.add(op, "reversed columns", {spread({3, 4}, low, high).slice(1, kAll, kAll, -1)}, call, options);
  table.add(op, "permuted", {spread({2, 3, 2}, low, high).permute({2, 0, 1})}, call, options);
  table.add(op, "expanded", {spread({3, 1}, low, high).expand({3, 4})}, call, options);
  table.add(op, "expanded scalar", {spread({}, low, high).expand({5})}, call, options);
}

void add_binary(SampleTable& table, std::string_view op, const std::function<Tensor(const Tensor&, const Tensor&)>& f,
                double low, double high, int64_t at_least) {
  table.of(op).binary.push_back({f, low, high});
  const auto call = [f](std::span<const Tensor> x) { return f(x[0], x[1]); };
  // In the other direction and from a slightly other range, so that no element of a equals one of b.
  const double from = high + 0.05, to = low + 0.03;
  const auto pair = [&](const Shape& a, const Shape& b) {
    if (broadcast(op, a, b).numel() < at_least) return;
    table.add(op, fmt::format("{}, {}", str(a), str(b)), {spread(a, low, high), spread(b, from, to)}, call);
  };
  const Shape shapes[] = {{}, {1}, {3}, {2, 3}, {2, 1}, {1, 3}, {1, 1}};
  for (const Shape& a : shapes) {
    for (const Shape& b : shapes) pair(a, b);
  }
  pair({2, 1, 3}, {4, 1});
  pair({4, 1}, {2, 1, 3});
  pair({2, 1, 2, 1}, {3, 1, 2});
  pair({0}, {1});
  pair({}, {0});
  pair({2, 0}, {2, 1});
  pair({0, 3}, {3});
  pair({1, 3}, {0, 3});
  pair({37}, {37});
  for (const LaidOut& a : layouts(3, 4, low, high)) {
    for (const LaidOut& b : layouts(3, 4, from, to)) {
      if (a.label != b.label || a.label != "contiguous") table.add(op, a.label + ", " + b.label, {a.x, b.x}, call);
    }
    table.add(op, a.label + ", row", {a.x, spread({4}, from, to)}, call);
    table.add(op, "column, " + a.label, {spread({3, 1}, from, to), a.x}, call);
  }
  table.add(op, "expanded, expanded", {spread({3, 1}, low, high).expand({3, 4}), spread({4}, from, to).expand({3, 4})},
            call);
}

void add_cubes(SampleTable& table, std::string_view op, const std::string& label,
               const std::function<Tensor(const Tensor&)>& f) {
  const auto call = [f](std::span<const Tensor> x) { return f(x[0]); };
  table.add(op, label, {spread({2, 3, 4})}, call);
  table.add(op, label + ", permuted", {spread({4, 2, 3}).permute({1, 2, 0})}, call);
  table.add(op, label + ", strided", {spread({2, 3, 8}).slice(2, 0, kAll, 2)}, call);
  table.add(op, label + ", reversed", {spread({2, 3, 4}).slice(1, kAll, kAll, -1)}, call);
  table.add(op, label + ", expanded", {spread({2, 1, 4}).expand({2, 3, 4})}, call);
}

Tensor pulled_back(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, const Tensor& dy) {
  std::optional<Tape> own;
  Tape* tape = Tape::current();
  if (!tape) tape = &own.emplace();
  const Tensor leaf = x.as_leaf();
  return tape->backward(f(leaf), {.create_graph = true, .grad_output = dy, .keep = {}})[leaf];
}

}  // namespace tapegrad::tasks
