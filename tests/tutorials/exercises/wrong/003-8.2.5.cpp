// expected: 003-8.2.5: wrong. mask, matrix [1, 1], row 4, column 1: expected 1, got 0
#include <tapegrad/tapegrad.h>

// Padding is hidden as a query, not as a key.
inline tapegrad::Tensor decoder_mask(const tapegrad::Tensor& ids) {
  const int64_t batch = ids.size(0), length = ids.size(1);
  const tapegrad::Tensor words = (ids != 0).reshape({batch, 1, length, 1});
  return words && tapegrad::tril(tapegrad::ones({length, length})) == 1;
}
