// could not convert|not contextually convertible
#include <tapegrad/autograd/ops.h>

int main() {
  const tapegrad::Tensor x = tapegrad::zeros({2});
  return (x > 0 ? x : -x).dim();  // where(x > 0, x, -x) was meant
}
