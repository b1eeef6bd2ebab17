// expected: 004-6: wrong. large scores, row 1, column 1: expected 0.2447, got NaN
#include <tapegrad/tapegrad.h>

// As in cell 6.
inline tapegrad::Tensor stable_softmax(const tapegrad::Tensor& scores) {
  const tapegrad::Tensor powers = tapegrad::exp(scores);
  return powers / tapegrad::sum(powers, -1, true);
}
