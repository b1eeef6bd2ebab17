// expected: 004-40: wrong. split, matrix [1, 1], row 2, column 1: expected 0.3200, got 1.4000
#include <tapegrad/tapegrad.h>

// A reshape alone.
inline tapegrad::Tensor split_heads(const tapegrad::Tensor& x, int64_t heads) {
  return x.reshape({x.size(0), heads, x.size(1), x.size(2) / heads});
}
inline tapegrad::Tensor merge_heads(const tapegrad::Tensor& x) {
  return x.reshape({x.size(0), x.size(2), x.size(1) * x.size(3)});
}
