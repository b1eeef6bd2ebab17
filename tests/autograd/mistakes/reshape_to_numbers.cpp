// write reshape..2, 3
#include <tapegrad/autograd/ops.h>

int main() {
  const tapegrad::Tensor x = tapegrad::zeros({2, 3});
  return x.reshape(3, 2).dim();
}
