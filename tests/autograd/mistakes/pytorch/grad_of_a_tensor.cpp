// write grads.x., with the Gradients of tape.backward.loss.
#include <tapegrad/autograd/ops.h>

int main() {
  const tapegrad::Tensor w = tapegrad::ones({2}).as_leaf();
  return w.grad().dim();
}
