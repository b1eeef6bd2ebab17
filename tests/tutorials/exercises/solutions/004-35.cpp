// A solution of exercise 004-35.
#include <tapegrad/tapegrad.h>

inline tapegrad::Tensor dropped(const tapegrad::Tensor& x, const tapegrad::Tensor& keep, double p) {
  return x * keep.to(x.dtype()) / (1 - p);
}
