// an index is a number, a range, all, newaxis, ellipsis or a tensor
#include <tapegrad/autograd/ops.h>

int main() {
  const tapegrad::Tensor x = tapegrad::zeros({4, 3});
  return x(true).dim();
}
