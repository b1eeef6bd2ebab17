// x.range.0, 2.. and slice.x, {{0, 2}}. are x.0:2.
#include <tapegrad/autograd/ops.h>

int main() {
  const tapegrad::Tensor x = tapegrad::zeros({4, 3});
  return tapegrad::slice(x, {0, 2}).dim();
}
