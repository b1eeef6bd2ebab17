// x.all, 1. is x.:, 1.
#include <tapegrad/autograd/ops.h>

int main() {
  const tapegrad::Tensor x = tapegrad::zeros({4, 3});
  return x(':', 1).dim();
}
