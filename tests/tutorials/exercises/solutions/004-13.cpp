// A solution of exercise 004-13.
#include <tapegrad/tapegrad.h>

inline tapegrad::Tensor contexts(const tapegrad::Tensor& words) {
  return tapegrad::matmul(tapegrad::softmax(tapegrad::matmul(words, words.t())), words);
}
