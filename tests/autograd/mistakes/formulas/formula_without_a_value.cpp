// fuse: expected a formula that returns a value of its arguments
#include <tapegrad/autograd/fuse.h>

// where(v > 0, 1, 0) was meant
int mistake(const tapegrad::Tensor& x) {
  return tapegrad::fuse([](auto v) { return v > 0; }, x).dim();
}
