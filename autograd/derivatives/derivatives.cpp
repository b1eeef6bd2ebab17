// Derivatives as functions, implemented with Tape::backward and forward passes.
#include <tapegrad/autograd/derivatives.h>
#include <tapegrad/autograd/detail/forward_pass.h>
#include <tapegrad/autograd/detail/layers.h>
#include <tapegrad/autograd/detail/per_example.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/recording.h>
#include <tapegrad/autograd/tape.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace tapegrad::detail {
namespace {

constexpr std::string_view kNoArguments = "expected at least one tensor to differentiate with respect to, got none";

void require_arguments(std::string_view where, std::span<const Tensor> x) {
  for (const Tensor& one : x) {
    require(is_floating(one.dtype()), where, "expected float32 or float64 arguments, got {}", one.dtype());
  }
  if (x.empty()) fail(where, kNoArguments);
}

std::vector<Tensor> variables(std::string_view where, std::span<const Tensor> x) {
  require_arguments(where, x);
  std::vector<Tensor> found;
  for (const Tensor& one : x) found.push_back(Tape::variable(one));
  return found;
}

void require_like(std::string_view where, std::string_view what, const Tensor& v, const Tensor& of) {
  require(v.shape() == of.shape() && v.dtype() == of.dtype(), where, "expected v to be {} {}, as {}, got {} {}",
          of.dtype(), of.shape(), what, v.dtype(), v.shape());
}

void require_like(std::string_view where, std::span<const Tensor> v, std::span<const Tensor> x) {
  require(v.size() == x.size(), where, "expected one v per argument, got {} for {}", v.size(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) require_like(where, "the argument", v[i], x[i]);
}

Tensor unit(const Tensor& like, int64_t index) {
  const Tensor one = zeros(like.shape(), like.dtype());
  if (like.dtype() == kFloat32) {
    one.mutable_data<float>()[index] = 1;
  } else {
    one.mutable_data<double>()[index] = 1;
  }
  return one;
}

enum class Then { nothing, again, differentiated };

// f at variables with the values of x, on the tape that records now, or on a new one. On the former all results are
// recorded, for further derivatives.
class Evaluation {
 private:
  std::optional<Tape> own_;  // before what it records

 public:
  Evaluation(std::string_view where, TensorFunction f, std::span<const Tensor> x) {
    if (!Tape::for_backward()) own_.emplace(OuterTensors::tangents);
    at = variables(where, x);
    y = f(at);
  }

  std::vector<Tensor> at;
  Tensor y;

  void require_scalar(std::string_view where) const {
    require(y.numel() == 1, where, "expected a function whose result has one element, got shape {}", y.shape());
  }

  // d<dz, z>/dx for each x; dz may be empty if z has one element. `again`: another backward follows. Without an
  // enclosing tape, the last backward frees everything.
  std::vector<Tensor> gradients(const Tensor& z, const std::vector<Tensor>& x, const Tensor& dz, Then then) {
    Gradients found;
    Tape& tape = *Tape::for_backward();
    if (tape.position_of(z) >= 0) {
      found = tape.backward(z, {.create_graph = !own_ || then == Then::differentiated,
                                .retain_graph = then == Then::again,
                                .grad_output = dz,
                                .keep = {},
                                .only = x});
    }
    std::vector<Tensor> grads;
    for (const Tensor& one : x) {
      const Tensor* const grad = found.find(one);
      grads.push_back(grad ? *grad : zeros(one.shape(), one.dtype()));
    }
    return grads;
  }

  // d<v, g>/dx, summed over pairs of v and g.
  std::vector<Tensor> pulled_back(const std::vector<Tensor>& g, std::span<const Tensor> v,
                                  const std::vector<Tensor>& x) {
    Tensor product = sum(g[0] * v[0]);
    for (std::size_t i = 1; i < g.size(); ++i) product = product + sum(g[i] * v[i]);
    return gradients(product, x, {}, Then::nothing);
  }

  // dz/dx for each argument, with the shape of z followed by that of x.
  std::vector<Tensor> jacobian(const Tensor& z, Then then) {
    std::vector<std::vector<Tensor>> rows(at.size());
    for (int64_t i = 0; i < z.numel(); ++i) {
      const bool last = i + 1 == z.numel();
      std::vector<Tensor> row = gradients(z, at, unit(z, i), last ? then : Then::again);
      for (std::size_t j = 0; j < at.size(); ++j) rows[j].push_back(std::move(row[j]));
    }
    std::vector<Tensor> whole;
    for (std::size_t j = 0; j < at.size(); ++j) {
      Shape shape = z.shape();
      for (int axis = 0; axis < at[j].dim(); ++axis) shape.push_back(at[j].shape()[axis]);
      whole.push_back(rows[j].empty() ? zeros(shape, z.dtype()) : stack(rows[j]).reshape(shape));
    }
    return results(std::move(whole));
  }

  // What the caller gets: nothing that a new tape has recorded.
  std::vector<Tensor> results(std::vector<Tensor> x) const {
    for (Tensor& one : x) one = result(one);
    return x;
  }
  ValueAndProducts with_value(std::vector<Tensor> products) const { return {result(y), results(std::move(products))}; }

 private:
  // An enclosing forward pass keeps the tangents.
  Tensor result(const Tensor& x) const {
    if (!own_) return x;
    const Tensor y = x.view(x.shape(), x.strides());
    if (Layers::take_part(*own_)) Layers::copy_tangents(x, y);
    return y;
  }
};

// f and J v at x, in forward mode.
struct Pushed {
  Pushed(TensorFunction f, std::span<const Tensor> x, std::span<const Tensor> v,
         ForwardPass::Refusal refusal = ForwardPass::Refusal::error) {
    const ForwardPass pass(refusal);
    std::vector<Tensor> at;
    for (std::size_t i = 0; i < x.size(); ++i) at.push_back(pass.variable(x[i], v[i]));
    const Tensor found = f(at);
    y = pass.result(found);
    tangent = pass.tangent(found);
    refused = pass.refused();
  }

  Tensor y, tangent;
  bool refused = false;
};

// --- the rows of a batch ---

constexpr std::string_view kBatchJacobian = "batch_jacobian";
constexpr std::string_view kSeparateRows = "require_separate_rows";

int64_t count_rows(std::string_view where, std::span<const Tensor> x) {
  if (x.empty()) fail(where, kNoArguments);
  for (const Tensor& one : x) {
    if (one.dim() == 0 || (x[0].dim() > 0 && one.size(0) != x[0].size(0))) {
      fail(where, "expected arguments with equally many rows, [B, ...], got shape {}{}", one.shape(),
           &one == x.data() ? "" : fmt::format(" after {}", str(x[0].shape())));
    }
  }
  return x[0].size(0);
}

void require_rows(std::string_view where, const Tensor& y, int64_t rows) {
  require(y.dim() != 0 && y.size(0) == rows, where,
          "expected a function with a row per row of its argument, got shape {} for {} row{}", y.shape(), rows,
          rows == 1 ? "" : "s");
}

Shape without_first(Shape shape) {
  shape.erase(0);
  return shape;
}

Shape shape_of(int64_t first, const Shape& second, const Shape& third) {
  Shape shape{first};
  for (const int64_t size : second) shape.push_back(size);
  for (const int64_t size : third) shape.push_back(size);
  return shape;
}

// [B, ...] -> [B * times, ...], each row `times` times in a row.
Tensor repeated_rows(const Tensor& x, int64_t times) {
  const Shape row = without_first(x.shape());
  return x.unsqueeze(1).expand(shape_of(x.size(0), {times}, row)).reshape(shape_of(x.size(0) * times, row, {}));
}

std::vector<Tensor> repeated_rows(std::span<const Tensor> x, int64_t times) {
  std::vector<Tensor> found;
  for (const Tensor& one : x) found.push_back(repeated_rows(one, times));
  return found;
}

// [rows * times, ...] with the rows of [times, ...] for each of the rows.
Tensor for_each_row(const Tensor& directions, int64_t rows) {
  const int64_t times = directions.size(0);
  const Shape row = without_first(directions.shape());
  return directions.unsqueeze(0).expand(shape_of(rows, {times}, row)).reshape(shape_of(rows * times, row, {}));
}

struct RowCounts {
  int64_t count = 0;
  Shape result;          // of one row
  int64_t elements = 0;  // of one row of all arguments
};

// A row of f(x) per element of a row of x, and J times one direction each. Empty if an operation has no tangent.
std::vector<Tensor> jacobian_by_directions(TensorFunction f, std::span<const Tensor> x, const RowCounts& rows) {
  const int64_t n = rows.elements, m = rows.result.numel();
  std::vector<Tensor> v;
  int64_t first = 0;
  for (const Tensor& one : x) {
    const Shape row = without_first(one.shape());
    const Tensor all = eye(n, one.dtype()).slice(1, first, first + row.numel());
    v.push_back(for_each_row(all.reshape(shape_of(n, row, {})), rows.count));
    first += row.numel();
  }
  const Pushed pushed(f, repeated_rows(x, n), v, ForwardPass::Refusal::noted);
  require_rows(kBatchJacobian, pushed.y, rows.count * n);
  if (pushed.refused) return {};
  const Tensor whole = pushed.tangent.reshape({rows.count, n, m}).transpose(1, 2);
  std::vector<Tensor> found;
  first = 0;
  for (const Tensor& one : x) {
    const Shape row = without_first(one.shape());
    found.push_back(whole.slice(2, first, first + row.numel()).reshape(shape_of(rows.count, rows.result, row)));
    first += row.numel();
  }
  return found;
}

// One backward for all elements of f(x).
std::vector<Tensor> jacobian_by_results(TensorFunction f, std::span<const Tensor> x, const RowCounts& rows) {
  const int64_t m = rows.result.numel();
  Evaluation run(kBatchJacobian, f, repeated_rows(x, m));
  require_rows(kBatchJacobian, run.y, rows.count * m);
  const Tensor unit = eye(m, run.y.dtype()).reshape(shape_of(m, rows.result, {}));
  std::vector<Tensor> found = run.gradients(run.y, run.at, for_each_row(unit, rows.count), Then::nothing);
  for (std::size_t i = 0; i < x.size(); ++i) {
    found[i] = found[i].reshape(shape_of(rows.count, rows.result, without_first(x[i].shape())));
  }
  return run.results(std::move(found));
}

}  // namespace

ValueAndProducts value_and_grad(TensorFunction f, std::span<const Tensor> x) {
  Evaluation run("grad", f, x);
  run.require_scalar("grad");
  return run.with_value(run.gradients(run.y, run.at, {}, Then::nothing));
}

ValueAndProducts vjp(TensorFunction f, std::span<const Tensor> x, const Tensor& v) {
  Evaluation run("vjp", f, x);
  require_like("vjp", "the function's result", v, run.y);
  return run.with_value(run.gradients(run.y, run.at, v, Then::nothing));
}

ValueAndProducts jvp(TensorFunction f, std::span<const Tensor> x, std::span<const Tensor> v) {
  require_like("jvp", v, x);
  require_arguments("jvp", x);
  const Pushed pushed(f, x, v);
  return {pushed.y, {pushed.tangent}};
}

ValueAndProducts hvp(TensorFunction f, std::span<const Tensor> x, std::span<const Tensor> v) {
  require_like("hvp", v, x);
  Evaluation run("hvp", f, x);
  run.require_scalar("hvp");
  return run.with_value(run.pulled_back(run.gradients(run.y, run.at, {}, Then::differentiated), v, run.at));
}

std::vector<Tensor> jacobian(TensorFunction f, std::span<const Tensor> x) {
  Evaluation run("jacobian", f, x);
  return run.jacobian(run.y, Then::nothing);
}

std::vector<std::vector<Tensor>> hessian(TensorFunction f, std::span<const Tensor> x) {
  Evaluation run("hessian", f, x);
  run.require_scalar("hessian");
  std::vector<std::vector<Tensor>> blocks;
  for (const Tensor& g : run.gradients(run.y, run.at, {}, Then::differentiated)) {
    blocks.push_back(run.jacobian(g, Then::again));
  }
  return blocks;
}

std::vector<Tensor> batch_jacobian(TensorFunction f, std::span<const Tensor> x) {
  RowCounts rows;
  rows.count = count_rows(kBatchJacobian, x);
  std::vector<Tensor> row;
  for (const Tensor& one : x) {
    row.push_back(one.slice(0, 0, 1));
    rows.elements += without_first(one.shape()).numel();
  }
  const Tensor y = unrecorded([&] { return f(row); });
  require_rows(kBatchJacobian, y, std::min<int64_t>(rows.count, 1));
  rows.result = without_first(y.shape());
  if (rows.count == 0 || rows.elements == 0 || rows.result.numel() == 0) {
    std::vector<Tensor> found;
    for (const Tensor& one : x) {
      found.push_back(zeros(shape_of(rows.count, rows.result, without_first(one.shape())), y.dtype()));
    }
    return found;
  }
  std::vector<Tensor> found;
  if (rows.elements < rows.result.numel()) found = jacobian_by_directions(f, x, rows);
  return found.empty() ? jacobian_by_results(f, x, rows) : found;
}

void require_separate_rows(TensorFunction f, std::span<const Tensor> x) {
  const int64_t rows = count_rows(kSeparateRows, x);
  const PauseRecording pause;  // of an enclosing tape: Evaluation begins its own
  Evaluation run(kSeparateRows, f, x);
  require_rows(kSeparateRows, run.y, rows);
  Generator generator(0);
  const Tensor dy = uniform(run.y.shape(), 0.5, 1, run.y.dtype(), &generator);
  const Tensor scales = powers_of_two(rows, run.y.dtype());
  const std::vector<Tensor> once = run.gradients(run.y, run.at, dy, Then::again);
  const Tensor scaled = dy * scales.reshape(shape_of(rows, Shape::filled(run.y.dim() - 1, 1), {}));
  const std::vector<Tensor> twice = run.gradients(run.y, run.at, scaled, Then::nothing);
  for (std::size_t i = 0; i < once.size(); ++i) {
    const int64_t row = first_not_scaled(once[i], twice[i], scales);
    if (row >= 0) fail(kSeparateRows, "results of other rows depend on row {} of the argument", row);
  }
}

}  // namespace tapegrad::detail
