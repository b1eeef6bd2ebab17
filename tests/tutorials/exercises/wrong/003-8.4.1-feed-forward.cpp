// expected: 003-8.4.1-feed-forward: wrong. output, matrix [1], row 1, column 1: expected 2.7131, got 6.7629
#include <tapegrad/tapegrad.h>

// Without ReLU.
inline tapegrad::Tensor two_layers(const tapegrad::Tensor& x, const tapegrad::Tensor& w1, const tapegrad::Tensor& b1,
                                   const tapegrad::Tensor& w2, const tapegrad::Tensor& b2) {
  return tapegrad::matmul(tapegrad::matmul(x, w1.t()) + b1, w2.t()) + b2;
}
