// A solution of exercise 003-8.5.2.
#include <tapegrad/tapegrad.h>

inline double exact_match(const tapegrad::Tensor& predicted, const tapegrad::Tensor& target) {
  const auto ours = predicted.to_vector<int64_t>(), wanted = target.to_vector<int64_t>();
  const int64_t length = target.size(1);
  int64_t right = 0;
  for (int64_t row = 0; row < target.size(0); ++row) {
    bool all = true;
    for (int64_t i = row * length; i < (row + 1) * length; ++i) all = all && (wanted[i] == 0 || ours[i] == wanted[i]);
    right += all;
  }
  return static_cast<double>(right) / static_cast<double>(target.size(0));
}
