// Derivatives as functions, implemented with Tape::backward.
#include <fmt/format.h>
#include <tapegrad/autograd/derivatives.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>

#include <optional>
#include <string_view>

namespace tapegrad::detail {
namespace {

// The tape that records now, or a new one. On the former all results are recorded, for further derivatives.
class Recording {
 public:
  Recording() {
    if (!Tape::current()) own_.emplace();
  }
  Tape& tape() { return *Tape::current(); }
  bool outer() const { return !own_; }
  Tensor result(const Tensor& x) const { return own_ ? x.detach() : x; }

  // d<dy, y>/dx for each x; dy may be empty if y has one element. `again`: another backward follows. Without an
  // enclosing tape, the last backward frees everything.
  enum class Then { nothing, again, differentiated };
  std::vector<Tensor> gradients(const Tensor& y, const std::vector<Tensor>& x, const Tensor& dy, Then then) {
    Gradients found;
    if (tape().position_of(y) >= 0) {
      found = tape().backward(y, {.create_graph = outer() || then == Then::differentiated,
                                  .retain_graph = then == Then::again,
                                  .grad_output = dy,
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

 private:
  std::optional<Tape> own_;
};

using Then = Recording::Then;

std::vector<Tensor> variables(std::string_view where, std::span<const Tensor> x) {
  std::vector<Tensor> found;
  for (const Tensor& one : x) {
    if (!is_floating(one.dtype())) {
      fail(where, fmt::format("expected float32 or float64 arguments, got {}", name(one.dtype())));
    }
    found.push_back(Tape::variable(one));
  }
  if (found.empty()) fail(where, "expected at least one tensor to differentiate by, got none");
  return found;
}

void require_scalar(std::string_view where, const Tensor& y) {
  if (y.numel() != 1) {
    fail(where, fmt::format("expected a function whose result has one element, got shape {}", str(y.shape())));
  }
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

std::vector<Tensor> results(const Recording& recording, std::vector<Tensor> x) {
  for (Tensor& one : x) one = recording.result(one);
  return x;
}

// d<v, g>/dx, summed over pairs of v and g.
std::vector<Tensor> pulled_back(Recording& recording, const std::vector<Tensor>& g, std::span<const Tensor> v,
                                const std::vector<Tensor>& x) {
  Tensor product = sum(g[0] * v[0]);
  for (std::size_t i = 1; i < g.size(); ++i) product = product + sum(g[i] * v[i]);
  return recording.gradients(product, x, {}, Then::nothing);
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

// dy/dx for each x, with the shape of y followed by that of x.
std::vector<Tensor> jacobian_of(Recording& recording, const Tensor& y, const std::vector<Tensor>& x, Then then) {
  std::vector<std::vector<Tensor>> rows(x.size());
  for (int64_t i = 0; i < y.numel(); ++i) {
    const bool last = i + 1 == y.numel();
    std::vector<Tensor> row = recording.gradients(y, x, unit(y, i), last ? then : Then::again);
    for (std::size_t j = 0; j < x.size(); ++j) rows[j].push_back(std::move(row[j]));
  }
  std::vector<Tensor> whole;
  for (std::size_t j = 0; j < x.size(); ++j) {
    Shape shape = y.shape();
    for (int axis = 0; axis < x[j].dim(); ++axis) shape.push_back(x[j].shape()[axis]);
    whole.push_back(rows[j].empty() ? zeros(shape, y.dtype()) : stack(rows[j]).reshape(shape));
  }
  return whole;
}

}  // namespace

ValueAndProducts value_and_grad(TensorFunction f, std::span<const Tensor> x) {
  Recording recording;
  const std::vector<Tensor> at = variables("grad", x);
  const Tensor y = f(at);
  require_scalar("grad", y);
  std::vector<Tensor> grads = recording.gradients(y, at, {}, Then::nothing);
  return {recording.result(y), results(recording, std::move(grads))};
}

ValueAndProducts vjp(TensorFunction f, std::span<const Tensor> x, const Tensor& v) {
  Recording recording;
  const std::vector<Tensor> at = variables("vjp", x);
  const Tensor y = f(at);
  require_like("vjp", "the function's result", v, y);
  std::vector<Tensor> products = recording.gradients(y, at, v, Then::nothing);
  return {recording.result(y), results(recording, std::move(products))};
}

ValueAndProducts jvp(TensorFunction f, std::span<const Tensor> x, std::span<const Tensor> v) {
  require_like("jvp", v, x);
  Recording recording;
  const std::vector<Tensor> at = variables("jvp", x);
  const Tensor y = f(at);
  const Tensor dual = Tape::variable(zeros(y.shape(), y.dtype()));
  const std::vector<Tensor> grads = recording.gradients(y, at, dual, Then::differentiated);
  std::vector<Tensor> product = pulled_back(recording, grads, v, {dual});
  return {recording.result(y), results(recording, std::move(product))};
}

ValueAndProducts hvp(TensorFunction f, std::span<const Tensor> x, std::span<const Tensor> v) {
  require_like("hvp", v, x);
  Recording recording;
  const std::vector<Tensor> at = variables("hvp", x);
  const Tensor y = f(at);
  require_scalar("hvp", y);
  const std::vector<Tensor> grads = recording.gradients(y, at, {}, Then::differentiated);
  std::vector<Tensor> products = pulled_back(recording, grads, v, at);
  return {recording.result(y), results(recording, std::move(products))};
}

std::vector<Tensor> jacobian(TensorFunction f, std::span<const Tensor> x) {
  Recording recording;
  const std::vector<Tensor> at = variables("jacobian", x);
  return results(recording, jacobian_of(recording, f(at), at, Then::nothing));
}

std::vector<std::vector<Tensor>> hessian(TensorFunction f, std::span<const Tensor> x) {
  Recording recording;
  const std::vector<Tensor> at = variables("hessian", x);
  const Tensor y = f(at);
  require_scalar("hessian", y);
  const std::vector<Tensor> grads = recording.gradients(y, at, {}, Then::differentiated);
  std::vector<std::vector<Tensor>> blocks;
  for (const Tensor& g : grads) blocks.push_back(results(recording, jacobian_of(recording, g, at, Then::again)));
  return blocks;
}

}  // namespace tapegrad::detail
