// expected: 004-13: wrong. contexts, row 1, column 1: expected 0.4421, got 0.4017
#include <tapegrad/tapegrad.h>

// The softmax is over the queries, so the columns sum to 1.
inline tapegrad::Tensor contexts(const tapegrad::Tensor& words) {
  return tapegrad::matmul(tapegrad::softmax(tapegrad::matmul(words, words.t()), 0), words);
}
