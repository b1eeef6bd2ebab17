// Gradients of functions of one tensor; with `again`, computed by the recorded backward.
#pragma once

#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>

namespace tapegrad::tests {

// The gradient of the sum of f(x).
template <class F>
Tensor slope(F f, const Tensor& x, bool again = false) {
  const Tensor leaf = x.as_leaf();
  Tape tape;
  const Tensor y = f(leaf);
  return tape.backward(y, {.create_graph = again, .grad_output = ones_like(y), .keep = {}})[leaf].detach();
}

// The gradient of the sum of f(x) times 1, 2, 3, ...
template <class F>
Tensor gradient(F f, const Tensor& x, bool again = false) {
  return slope(
      [&](const Tensor& leaf) {
        const Tensor y = f(leaf);
        return y * arange(1, static_cast<double>(y.numel()) + 1, 1, y.dtype()).reshape(y.shape());
      },
      x, again);
}

}  // namespace tapegrad::tests
