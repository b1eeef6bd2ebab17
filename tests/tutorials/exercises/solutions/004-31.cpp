// A solution of exercise 004-31.
#include <tapegrad/tapegrad.h>

inline tapegrad::Tensor masked_and_renormalised(const tapegrad::Tensor& weights) {
  const tapegrad::Tensor past = tapegrad::tril(weights);
  return past / tapegrad::sum(past, -1, true);
}
