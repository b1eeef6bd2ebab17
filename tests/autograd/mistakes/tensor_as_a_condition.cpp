// could not convert|not contextually convertible
#include <tapegrad/autograd/ops.h>

int main() {
  const tapegrad::Tensor x = tapegrad::zeros({2});
  if (x > 0) return 1;  // one truth of many: all(x > 0) was meant
  return 0;
}
