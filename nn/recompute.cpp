// Activation checkpointing: an operation whose backward is a tape of its own.
#include <fmt/format.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/recompute.h>

#include <memory>

namespace tapegrad::nn {

namespace {

const Op kRecompute{"recompute", false};

// While one is alive, the default generator draws what it drew after `then`; afterwards it goes on as before.
class DrawAgain {
 public:
  explicit DrawAgain(const Generator& then) : now_(default_generator()) { default_generator() = then; }
  ~DrawAgain() { default_generator() = now_; }
  DrawAgain(const DrawAgain&) = delete;
  DrawAgain& operator=(const DrawAgain&) = delete;

 private:
  const Generator now_;
};

// What backward needs to run f once more.
struct Again {
  Tensor x;
  std::vector<Tensor> parameters;
  Generator before;
  Recomputed f;

  Grads gradients(const Tensor& dy) {
    const DrawAgain draws(before);
    Tape tape;
    const Tensor leaf = x.as_leaf();
    const Gradients found = tape.backward(f(leaf), {.grad_output = dy});
    const auto of = [&](const Tensor& input) {
      const Tensor* grad = found.find(input);
      return grad ? *grad : Tensor();
    };
    Grads grads;
    grads.push_back(of(leaf));
    for (const Tensor& p : parameters) grads.push_back(of(p));
    return grads;
  }
};

}  // namespace

Tensor recompute(const Tensor& x, const std::vector<Tensor>& parameters, Recomputed f) {
  if (!Tape::current()) return f(x);
  for (const Tensor& p : parameters) {
    if (needs_grad(p) && !p.is_leaf()) {
      kRecompute.fail(
          fmt::format("a parameter of shape {} was computed on the tape, a leaf is needed", str(p.shape())));
    }
  }
  std::vector<Tensor> inputs{x};
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  auto again = std::make_unique<Again>(Again{x.detach(), parameters, default_generator(), std::move(f)});
  Tensor y;
  {
    const PauseRecording pause;
    y = again->f(again->x);
  }
  return record(kRecompute, y, inputs, [again = std::move(again)](const Tensor& dy) { return again->gradients(dy); });
}

}  // namespace tapegrad::nn
