// A solution of exercise 003-8.4.1.
#include <tapegrad/tapegrad.h>

inline tapegrad::Tensor normalised(const tapegrad::Tensor& x, const tapegrad::Tensor& gamma,
                                   const tapegrad::Tensor& beta, double eps) {
  const tapegrad::Tensor centred = x - tapegrad::mean(x, -1, true);
  const tapegrad::Tensor deviation = tapegrad::sqrt(tapegrad::mean(centred * centred, -1, true));
  return gamma * centred / (deviation + eps) + beta;
}
