// deleted function
#include <tapegrad/autograd/fuse.h>

// where(v > 0, v, 0.1 * v) was meant
int mistake(const tapegrad::Tensor& x) {
  return tapegrad::fuse([](auto v) { return v > 0 ? v : 0.1 * v; }, x).dim();
}
