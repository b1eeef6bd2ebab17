// read-only
#include <tapegrad/autograd/ops.h>

int main() {
  const tapegrad::Tensor x = tapegrad::zeros({2, 3});
  x.data<float>()[0] = 1;  // values never change in place
}
