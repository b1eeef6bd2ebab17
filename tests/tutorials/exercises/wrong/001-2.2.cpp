// expected: 001-2.2: wrong. mask of 5, matrix [1], row 1, column 1: expected 1, got 0
#include <tapegrad/tapegrad.h>

// The diagonal is hidden, too.
inline tapegrad::Tensor subsequent_mask(int64_t size) {
  return tapegrad::triu(tapegrad::ones({1, size, size}), 0) == 0;
}
