// A solution of exercise 002-2.
#include <tapegrad/tapegrad.h>

#include <cmath>

inline tapegrad::Tensor weights_without_padding(const tapegrad::Tensor& scores, const tapegrad::Tensor& padding) {
  const tapegrad::Tensor keys = padding.transpose(1, 2).unsqueeze(1);  // [B, 1, 1, S]
  return tapegrad::softmax(tapegrad::masked_fill(scores, keys, -INFINITY));
}
