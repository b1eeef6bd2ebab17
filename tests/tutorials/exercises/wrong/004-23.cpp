// expected: 004-23: wrong. contexts, row 1, column 1: expected -1.0831, got -1.0910
#include <tapegrad/tapegrad.h>

// Divided by the dimension of the values.
#include <cmath>

inline tapegrad::Tensor attention(const tapegrad::Tensor& q, const tapegrad::Tensor& k, const tapegrad::Tensor& v) {
  const tapegrad::Tensor scores = tapegrad::matmul(q, k.t()) / std::sqrt(static_cast<double>(v.size(-1)));
  return tapegrad::matmul(tapegrad::softmax(scores), v);
}
