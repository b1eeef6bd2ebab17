// write range.0, 2., or tensor..0, 2..
#include <tapegrad/autograd/ops.h>

int main() {
  const tapegrad::Tensor x = tapegrad::zeros({4, 3});
  return x({0, 2}).dim();
}
