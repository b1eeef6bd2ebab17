// Reversible layers as one operation, whose backward inverts layer by layer.
#include <tapegrad/autograd/autocast.h>
#include <tapegrad/autograd/internal/draw_log.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/reversible.h>

#include <algorithm>

namespace tapegrad::nn {

namespace {

const Op kReversible{"reversible", false};

Tensor checked(Tensor y, const Tensor& x) {
  if (y.shape() == x.shape() && y.dtype() == x.dtype()) return y;
  fail(kReversible, "expected f and g to keep {} {}, got {} {}", x.dtype(), x.shape(), y.dtype(), y.shape());
}

// What backward needs: the results, and how to run the layers once more.
class Layers {
 public:
  explicit Layers(std::vector<ReversibleFunctions> layers) : layers_(std::move(layers)), draws_(2 * layers_.size()) {}

  // The results, stacked. Afterwards inputs() are the tensors with gradients that the layers used.
  Tensor run(const Halves& x) {
    Tensor first = x.first.detach(), second = x.second.detach();
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      first = first + run(layers_[i].f, second, draws_[2 * i]);
      second = second + run(layers_[i].g, first, draws_[2 * i + 1]);
    }
    const Tensor y = stack({first, second});
    results_ = {y[0], y[1]};
    return y;
  }
  const std::vector<Tensor>& inputs() const { return inputs_; }

  // The gradients of both halves of x, then those of inputs().
  Grads gradients(const Tensor& dy) {
    Tensor first = results_.first, second = results_.second, dfirst = dy[0], dsecond = dy[1];
    std::vector<Tensor> grads(inputs_.size());
    for (std::size_t i = layers_.size(); i-- > 0;) {
      const Pulled g = pull(layers_[i].g, first, draws_[2 * i + 1], dsecond, grads);
      second = second - g.value;
      if (g.dx.defined()) dfirst = dfirst + g.dx;
      const Pulled f = pull(layers_[i].f, second, draws_[2 * i], dfirst, grads);
      first = first - f.value;
      if (f.dx.defined()) dsecond = dsecond + f.dx;
    }
    Grads all{dfirst, dsecond};
    for (Tensor& grad : grads) all.push_back(std::move(grad));
    return all;
  }

 private:
  Tensor run(Recomputed& f, const Tensor& x, tapegrad::detail::DrawLog& log) {
    const tapegrad::detail::DrawLog::Recording draws(log);
    Tape tape(OuterTensors::leaves);  // finds what takes part, and is dropped
    const Tensor leaf = x.as_leaf();
    const Tensor y = checked(f(leaf), x).detach();
    for (const Tensor& used : tape.leaves()) {
      const bool known = std::any_of(inputs_.begin(), inputs_.end(), [&](const Tensor& in) { return in.same(used); });
      if (!used.same(leaf) && !known) inputs_.push_back(used);
    }
    return y;
  }

  struct Pulled {
    Tensor value, dx;
  };
  // f(x) with the draws of forward, and the gradients for dy; those of inputs() are added to `grads`.
  Pulled pull(Recomputed& f, const Tensor& x, tapegrad::detail::DrawLog& log, const Tensor& dy,
              std::vector<Tensor>& grads) {
    Tape tape(OuterTensors::leaves);
    const Tensor leaf = x.as_leaf();
    Tensor y;
    {
      const tapegrad::detail::DrawLog::Replay same_draws(kReversible.name, log);
      const Autocast as_before(products_);
      y = f(leaf);
      same_draws.require_end();
    }
    if (tape.position_of(y) < 0) return {y, {}};
    const Gradients found = tape.backward(y, {.grad_output = dy});
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (const Tensor* grad = found.find(inputs_[i])) grads[i] = grads[i].defined() ? grads[i] + *grad : *grad;
    }
    const Tensor* const dx = found.find(leaf);
    return {y.detach(), dx ? *dx : Tensor()};
  }

  std::vector<ReversibleFunctions> layers_;
  std::vector<tapegrad::detail::DrawLog> draws_;  // of f and g of each layer
  std::vector<Tensor> inputs_;
  Halves results_;
  DType products_ = Autocast::dtype();
};

void require_halves(const Halves& x) {
  const Tensor &a = x.first, &b = x.second;
  require(is_floating(a.dtype()) && a.dtype() == b.dtype() && a.shape() == b.shape(), kReversible,
          "expected two floating halves of one shape, got {} {} and {} {}", a.dtype(), a.shape(), b.dtype(), b.shape());
}

}  // namespace

Halves reversible(const Halves& x, std::vector<ReversibleFunctions> layers) {
  require_halves(x);
  for (const ReversibleFunctions& layer : layers) {
    if (!layer.f || !layer.g) kReversible.fail("expected functions f and g, got an empty one");
  }
  if (!Tape::for_backward()) {
    Halves y = x;
    for (ReversibleFunctions& layer : layers) {
      y.first = y.first + checked(layer.f(y.second), y.second);
      y.second = y.second + checked(layer.g(y.first), y.first);
    }
    return y;
  }
  Layers all(std::move(layers));
  const Tensor y = all.run(x);
  std::vector<Tensor> inputs{x.first, x.second};
  inputs.insert(inputs.end(), all.inputs().begin(), all.inputs().end());
  auto backward = [all = std::move(all)](const Tensor& dy) mutable { return all.gradients(dy); };
  const Tensor recorded = record(kReversible, y, inputs, std::move(backward), Reads::anything);
  return {recorded[0], recorded[1]};
}

}  // namespace tapegrad::nn
