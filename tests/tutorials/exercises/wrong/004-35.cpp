// expected: 004-35: wrong. p 0.2, row 1, column 2: expected -0.1000, got -0.4000
#include <tapegrad/tapegrad.h>

// As the tutorial's comment: right for p = 0.5 only.
inline tapegrad::Tensor dropped(const tapegrad::Tensor& x, const tapegrad::Tensor& keep, double p) {
  return x * keep.to(x.dtype()) / p;
}
