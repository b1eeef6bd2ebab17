// expected: 002-2: wrong. weights, matrix [1, 1], row 1, column 1: expected 0.0405, got 0.0382
#include <tapegrad/tapegrad.h>

// As the tutorial has it: the rows of padding are hidden, not the columns.
inline tapegrad::Tensor weights_without_padding(const tapegrad::Tensor& scores, const tapegrad::Tensor& padding) {
  return tapegrad::softmax(scores + padding.unsqueeze(1).to(tapegrad::kFloat32) * -1e9);
}
