// x.0. = y would be lost: write x.0. = y, with a name x that is not const
#include <tapegrad/autograd/ops.h>

int main() {
  const tapegrad::Tensor x = tapegrad::zeros({2, 3});
  x(0) = tapegrad::ones({3});
}
