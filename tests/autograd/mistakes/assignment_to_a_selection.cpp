// x.0. = y would be lost: write x.0. = y
#include <tapegrad/autograd/ops.h>

int main() {
  tapegrad::Tensor x = tapegrad::zeros({2, 3});
  x.select(1, 0) = tapegrad::ones({2});
}
