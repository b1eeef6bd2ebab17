// write Gradients grads = tape.backward.loss.
#include <tapegrad/autograd/ops.h>

int main() {
  const tapegrad::Tensor loss = tapegrad::ones({});
  loss.backward();
}
