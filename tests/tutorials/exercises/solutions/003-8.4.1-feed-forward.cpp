// A solution of exercise 003-8.4.1-feed-forward.
#include <tapegrad/tapegrad.h>

inline tapegrad::Tensor two_layers(const tapegrad::Tensor& x, const tapegrad::Tensor& w1, const tapegrad::Tensor& b1,
                                   const tapegrad::Tensor& w2, const tapegrad::Tensor& b2) {
  const tapegrad::Tensor inner = tapegrad::relu(tapegrad::matmul(x, w1.t()) + b1);
  return tapegrad::matmul(inner, w2.t()) + b2;
}
