// A solution of exercise 004-6.
#include <tapegrad/tapegrad.h>

inline tapegrad::Tensor stable_softmax(const tapegrad::Tensor& scores) {
  const tapegrad::Tensor powers = tapegrad::exp(scores - tapegrad::amax(scores, -1, true));
  return powers / tapegrad::sum(powers, -1, true);
}
