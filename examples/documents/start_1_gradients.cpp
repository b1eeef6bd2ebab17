// The first program of docs/start.md: tensors, a gradient, an error.
#include <tapegrad/tapegrad.h>

#include <iostream>

namespace tg = tapegrad;

int main() {
  const tg::Tensor x = tg::tensor({{1.0, 2.0}, {3.0, 4.0}});  // values never change
  const tg::Tensor y = tg::sum(x * x, 1);                     // operations compute at once
  std::cout << y << "\n";
  std::cout << x(tg::all, 0) << " has shape " << str(x(tg::all, 0).shape()) << "\n";

  const tg::Tensor w = tg::tensor({0.5, -1.0}).as_leaf();  // a leaf: something to differentiate by
  {
    tg::Tape tape;  // records from here to the end of the block
    const tg::Tensor loss = tg::mean(tg::square(tg::matmul(x, w) - 1));
    const tg::Gradients grads = tape.backward(loss);  // returned, not stored in w
    std::cout << "loss " << loss.item() << ", gradient " << grads[w] << "\n";
  }

  try {
    const tg::Tensor sum = x + tg::ones({3, 3});
  } catch (const tg::Error& error) {
    std::cout << error.what() << "\n";
  }
}
