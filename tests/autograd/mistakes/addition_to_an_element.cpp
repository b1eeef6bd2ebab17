// x.0. .= y would be lost: write x.0. .= y, x a name that is not const
#include <tapegrad/autograd/ops.h>

int main() {
  tapegrad::Tensor x = tapegrad::zeros({2, 3});
  x[0] += 1;
}
