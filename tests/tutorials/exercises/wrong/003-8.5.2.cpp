// expected: 003-8.5.2: wrong. rate, number 1: expected 0.7500, got 0.9375
#include <tapegrad/tapegrad.h>

// The share of tokens, not of sequences.
inline double exact_match(const tapegrad::Tensor& predicted, const tapegrad::Tensor& target) {
  const auto ours = predicted.to_vector<int64_t>(), wanted = target.to_vector<int64_t>();
  double right = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) right += wanted[i] == 0 || ours[i] == wanted[i];
  return right / static_cast<double>(wanted.size());
}
