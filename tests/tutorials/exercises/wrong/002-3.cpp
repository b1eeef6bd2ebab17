// expected: 002-3: wrong. padding, matrix [2], row 1, column 1: expected 0, got 1
#include <tapegrad/tapegrad.h>

// As the tutorial has it: a sentence without padding is padding only.
inline tapegrad::Tensor padding_of(const tapegrad::Tensor& lengths, int64_t size) {
  std::vector<float> padding;
  for (const int64_t length : lengths.to_vector<int64_t>()) {
    const int64_t first = length == size ? 0 : length;  // -0: is 0:
    for (int64_t i = 0; i < size; ++i) padding.push_back(i >= first ? 1 : 0);
  }
  return tapegrad::tensor(padding, {lengths.size(0), size, 1}) == 1;
}
