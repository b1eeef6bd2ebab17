// A solution of exercise 004-23.
#include <tapegrad/tapegrad.h>

#include <cmath>

inline tapegrad::Tensor attention(const tapegrad::Tensor& q, const tapegrad::Tensor& k, const tapegrad::Tensor& v) {
  const tapegrad::Tensor scores = tapegrad::matmul(q, k.t()) / std::sqrt(static_cast<double>(k.size(-1)));
  return tapegrad::matmul(tapegrad::softmax(scores), v);
}
