// The table of cases, how one is checked, and the numbers that samples are made of.
#include <fmt/format.h>
#include <tapegrad/checks/cases/case.h>

#include <algorithm>

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

// The sums of the result over each example, whose gradients per example must be those of each example by itself. The
// first of several inputs is the batch, a constant.
std::string wrong_per_example(const OpSample& sample) {
  Tape tape;
  std::vector<Tensor> leaves = sample.inputs;
  const std::size_t first = leaves.size() > 1 ? 1 : 0;
  for (std::size_t k = first; k < leaves.size(); ++k) leaves[k] = leaves[k].as_leaf();
  const Tensor y = sample.f(leaves);
  const int64_t examples = y.size(0);
  const Tensor losses = sum((y * spread(y.shape(), 0.5, 1.5)).reshape({examples, -1}), 1);
  const Gradients together = tape.backward(losses, {.retain_graph = true, .per_example = true});
  for (int64_t i = 0; i < examples; ++i) {
    Tensor chosen = zeros({examples}, kFloat64);
    chosen.mutable_data<double>()[i] = 1;
    const Gradients alone = tape.backward(losses, {.retain_graph = true, .grad_output = chosen});
    for (std::size_t k = first; k < leaves.size(); ++k) {
      const Tensor here = together[leaves[k]].select(0, i), expected = alone[leaves[k]];
      if (!(here.shape() == expected.shape()))
        return fmt::format("order 1: the gradients of input {} per example have shape {}, not {}", k, str(here.shape()),
                           str(expected.shape()));
      if (max(abs(here - expected).reshape({-1})).item() > 1e-12)
        return fmt::format("order 1: the gradient of input {} for example {} is not that of the example alone", k, i);
    }
  }
  return {};
}

CaseTable filled(CaseTable::Size size) {
  CaseTable table(size);
  add_arithmetic_cases(table);
  add_elementwise_cases(table);
  add_special_cases(table);
  add_view_cases(table);
  add_shape_cases(table);
  add_index_cases(table);
  add_segment_cases(table);
  add_reduction_cases(table);
  add_order_cases(table);
  add_product_cases(table);
  add_attention_cases(table);
  add_norm_cases(table);
  add_loss_cases(table);
  add_pooling_cases(table);
  add_convolution_cases(table);
  add_image_cases(table);
  add_recurrent_cases(table);
  add_linalg_cases(table);
  add_long_attention_cases(table);
  add_engine_cases(table);
  return table;
}

}  // namespace

const CaseTable& op_cases() {
  static const CaseTable table = filled(CaseTable::Size::small);
  return table;
}

CaseTable large_cases() { return filled(CaseTable::Size::large); }

const std::vector<OpSamples>& op_samples() { return op_cases().ops; }

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
    GradcheckReport report = gradcheck(sample.f, sample.inputs, options);
    if (report.ok && sample.per_example) {
      report.text = wrong_per_example(sample);
      report.ok = report.text.empty();
      report.order = report.ok ? 0 : 1;
    }
    return report;
  } catch (const Error& error) {
    return {.ok = false, .text = error.what()};
  }
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

std::vector<Tensor> queries_keys_values(const Shape& batch, int64_t t, int64_t s, int64_t d, int64_t e) {
  const auto shaped = [&](int64_t rows, int64_t columns) {
    Shape shape = batch;
    shape.push_back(rows);
    shape.push_back(columns);
    return shape;
  };
  return {spread(shaped(t, d)), spread(shaped(s, d), -1.9, 2.1), spread(shaped(s, e), -1, 1.3)};
}

Tensor numbers(const Shape& shape, double low, double high) {
  Generator generator(static_cast<uint64_t>(shape.numel()));
  return rand(shape, kFloat32, &generator) * (high - low) + low;
}

Tensor ids(const Shape& shape, int64_t bound) {
  return (numbers(shape, 0, 1) * static_cast<double>(bound)).to(kInt64);  // truncates
}

void add_cubes(CaseTable& table, std::string_view op, const std::string& label,
               const std::function<Tensor(const Tensor&)>& f) {
  const Function call = [f](std::span<const Tensor> x) { return f(x[0]); };
  table.add(op, label, {spread({2, 3, 4})}, call);
  table.add(op, label + ", permuted", {spread({4, 2, 3}).permute({1, 2, 0})}, call);
  table.add(op, label + ", strided", {spread({2, 3, 8}).slice(2, 0, kAll, 2)}, call);
  table.add(op, label + ", reversed", {spread({2, 3, 4}).slice(1, kAll, kAll, -1)}, call);
  table.add(op, label + ", expanded", {spread({2, 1, 4}).expand({2, 3, 4})}, call);
}

Tensor pulled_back(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, const Tensor& dy) {
  const Tensor leaf = x.as_leaf();
  const auto gradient = [&](Tape& tape) {
    return tape.backward(f(leaf), {.create_graph = true, .grad_output = dy, .keep = {}})[leaf];
  };
  if (Tape* const tape = Tape::for_backward()) return gradient(*tape);
  Tensor dx;
  {
    Tape own(OuterTensors::tangents);
    dx = gradient(own);
  }
  return Tape::current() ? Tape::variable(dx) : dx;  // in a jvp, its own tensor: the tape has ended
}

}  // namespace tapegrad::tasks
