// A solution of exercise 001-2.2.
#include <tapegrad/tapegrad.h>

inline tapegrad::Tensor subsequent_mask(int64_t size) {
  return tapegrad::triu(tapegrad::ones({1, size, size}), 1) == 0;
}
