// expected: 003-8.4.1: wrong. normalised, matrix [1], row 1, column 1: expected 1.5797, got 1.3933
#include <tapegrad/tapegrad.h>

// The deviation of a sample, divided by N - 1.
inline tapegrad::Tensor normalised(const tapegrad::Tensor& x, const tapegrad::Tensor& gamma,
                                   const tapegrad::Tensor& beta, double eps) {
  const tapegrad::Tensor centred = x - tapegrad::mean(x, -1, true);
  const double count = static_cast<double>(x.size(-1));
  const tapegrad::Tensor deviation = tapegrad::sqrt(tapegrad::sum(centred * centred, -1, true) / (count - 1));
  return gamma * centred / (deviation + eps) + beta;
}
