// fuse: expected a formula with an .auto. for each tensor and number
#include <tapegrad/autograd/fuse.h>

int mistake(const tapegrad::Tensor& x) {
  return tapegrad::fuse([](double v) { return v * v; }, x).dim();
}
