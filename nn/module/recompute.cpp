// Activation checkpointing: an operation whose backward uses its own tape.
#include <tapegrad/autograd/autocast.h>
#include <tapegrad/autograd/internal/draw_log.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/module/detail/leaf_of.h>
#include <tapegrad/nn/recompute.h>

#include <utility>
#include <vector>

namespace tapegrad::nn {

namespace {

const Op kRecompute{"recompute", false};

// What backward needs to run f once more.
struct Again {
  Tensor x;                                             // detached
  std::vector<Tensor, pool::Allocator<Tensor>> inputs;  // what else f used that has gradients
  tapegrad::detail::DrawLog draws;
  Recomputed f;
  DType products = Autocast::dtype();

  Grads gradients(const Tensor& dy) {
    Tape tape(OuterTensors::leaves);
    const Tensor leaf = detail::leaf_of(x);
    const Gradients found = tape.backward(again(leaf), {.grad_output = dy});
    const auto of = [&](const Tensor& input) {
      const Tensor* grad = found.find(input);
      return grad ? *grad : Tensor();
    };
    Grads grads;
    grads.push_back(of(leaf));
    for (const Tensor& input : inputs) grads.push_back(of(input));
    return grads;
  }

  // Only f repeats the draws of forward; an operation's backward may draw other numbers.
  Tensor again(const Tensor& leaf) {
    const tapegrad::detail::DrawLog::Replay same_draws(kRecompute.name, draws);
    const Autocast as_before(products);
    Tensor y = f(leaf);
    same_draws.require_end();
    return y;
  }
};

}  // namespace

Tensor recompute(const Tensor& x, Recomputed f, Reads reads) {
  if (!f) kRecompute.fail("expected a function, got an empty one");
  if (!Tape::for_backward()) return f(x);
  Again again{.x = x.detach(), .inputs = {}, .draws = {}, .f = std::move(f)};
  std::vector<Tensor> inputs{x};
  Tensor y;
  {
    const tapegrad::detail::DrawLog::Recording draws(again.draws);
    Tape tape(OuterTensors::leaves);  // finds what takes part, and is dropped
    const Tensor leaf = detail::leaf_of(again.x);
    const Tensor result = again.f(leaf);
    y = result.view(result.shape(), result.strides());  // f may return a tensor that it holds
    if (tape.position_of(result) < 0) return y;         // a constant; what f returns as it is becomes a leaf
    if (tape.reads_anything()) reads = Reads::anything;
    for (const Tensor& used : tape.leaves()) {
      if (used.same(leaf)) continue;
      inputs.push_back(used);
      again.inputs.push_back(used);
    }
  }
  auto backward = [again = std::move(again)](const Tensor& dy) mutable { return again.gradients(dy); };
  return record(kRecompute, y, inputs, std::move(backward), reads);
}

}  // namespace tapegrad::nn
