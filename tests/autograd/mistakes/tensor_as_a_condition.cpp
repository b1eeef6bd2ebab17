// could not convert|not contextually convertible
#include <tapegrad/autograd/ops.h>

int mistake(const tapegrad::Tensor& x) {
  if (x > 0) return 1;  // one truth of many: all(x > 0) was meant
  return 0;
}
