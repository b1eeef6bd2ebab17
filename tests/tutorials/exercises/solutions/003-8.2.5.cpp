// A solution of exercise 003-8.2.5.
#include <tapegrad/tapegrad.h>

inline tapegrad::Tensor decoder_mask(const tapegrad::Tensor& ids) {
  const int64_t batch = ids.size(0), length = ids.size(1);
  const tapegrad::Tensor words = (ids != 0).reshape({batch, 1, 1, length});
  return words && tapegrad::tril(tapegrad::ones({length, length})) == 1;
}
