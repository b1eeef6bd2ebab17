// comma expression in array subscript
#include <tapegrad/autograd/ops.h>

int main() {
  const tapegrad::Tensor x = tapegrad::zeros({2, 3});
  return x[1, 2].dim();  // x(1, 2) was meant
}
