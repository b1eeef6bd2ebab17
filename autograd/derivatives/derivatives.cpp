// Derivatives as functions, implemented with Tape::backward.
// build: -Os
#include <fmt/format.h>
#include <tapegrad/autograd/derivatives.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>

#include <optional>
#include <string_view>

namespace tapegrad::detail {
namespace {

std::vector<Tensor> variables(std::string_view where, std::span<const Tensor> x) {
  std::vector<Tensor> found;
  for (const Tensor& one : x) {
    if (!is_floating(one.dtype())) {
      fail(where, fmt::format("expected float32 or float64 arguments, got {}", name(one.dtype())));
    }
    found.push_back(Tape::variable(one));
  }
  if (found.empty()) fail(where, "expected at least one tensor to differentiate with respect to, got none");
  return found;
}

void require_like(std::string_view where, std::string_view what, const Tensor& v, const Tensor& of) {
  if (!(v.shape() == of.shape()) || v.dtype() != of.dtype()) {
    fail(where, fmt::format("expected v to be {} {}, as {}, got {} {}", name(of.dtype()), str(of.shape()), what,
                            name(v.dtype()), str(v.shape())));
  }
}

void require_like(std::string_view where, std::span<const Tensor> v, std::span<const Tensor> x) {
  if (v.size() != x.size()) {
    fail(where, fmt::format("expected one v per argument, got {} for {}", v.size(), x.size()));
  }
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
    if (!Tape::current()) own_.emplace();
    at = variables(where, x);
    y = f(at);
  }

  std::vector<Tensor> at;
  Tensor y;

  void require_scalar(std::string_view where) const {
    if (y.numel() != 1) {
      fail(where, fmt::format("expected a function whose result has one element, got shape {}", str(y.shape())));
    }
  }

  // d<dz, z>/dx for each x; dz may be empty if z has one element. `again`: another backward follows. Without an
  // enclosing tape, the last backward frees everything.
  std::vector<Tensor> gradients(const Tensor& z, const std::vector<Tensor>& x, const Tensor& dz, Then then) {
    Gradients found;
    if (Tape::current()->position_of(z) >= 0) {
      found = Tape::current()->backward(z, {.create_graph = !own_ || then == Then::differentiated,
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
  Tensor result(const Tensor& x) const { return own_ ? x.detach() : x; }
};

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
  Evaluation run("jvp", f, x);
  const Tensor dual = Tape::variable(zeros(run.y.shape(), run.y.dtype()));
  return run.with_value(run.pulled_back(run.gradients(run.y, run.at, dual, Then::differentiated), v, {dual}));
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

}  // namespace tapegrad::detail
