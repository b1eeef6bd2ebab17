// A solution of exercise 000-2.
#include <tapegrad/tapegrad.h>

#include <cmath>

inline tapegrad::Tensor with_another_head(const tapegrad::Tensor& x, const tapegrad::Tensor& contexts,
                                          const tapegrad::Tensor& wq, const tapegrad::Tensor& wk,
                                          const tapegrad::Tensor& wv) {
  const tapegrad::Tensor q = tapegrad::matmul(x, wq), k = tapegrad::matmul(x, wk), v = tapegrad::matmul(x, wv);
  const tapegrad::Tensor scores = tapegrad::matmul(q, k.t()) / std::sqrt(static_cast<double>(wk.size(1)));
  const tapegrad::Tensor later = tapegrad::triu(tapegrad::ones(scores.shape()), 1) == 1;
  const tapegrad::Tensor weights = tapegrad::softmax(tapegrad::masked_fill(scores, later, -INFINITY));
  return tapegrad::cat({contexts, tapegrad::matmul(weights, v)}, 1);
}
