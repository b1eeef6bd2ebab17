// no matching function
#include <tapegrad/autograd/ops.h>

int main() {
  const tapegrad::Tensor x = tapegrad::zeros({2, 3, 4});
  return tapegrad::mean(x, 1, 2).dim();  // {1, 2} was meant
}
