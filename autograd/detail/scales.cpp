// Scales of rows, and the comparison of gradients with them.
// build: -Os
#include <tapegrad/autograd/detail/scales.h>

#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/recording.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tapegrad::detail {

Tensor powers_of_two(int64_t count, DType dtype) {
  std::vector<double> scales;
  uint64_t state = 0;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    scales.push_back(std::ldexp(1.0, static_cast<int>((state >> 33) % 7) - 3));
  }
  return tensor(scales, {count}).to(dtype);
}

int64_t first_not_scaled(const Tensor& once, const Tensor& scaled, const Tensor& scales) {
  const int64_t rows = scales.numel();
  if (once.numel() == 0) return -1;
  const PauseRecording pause;
  const Tensor before = once.detach().reshape({rows, -1}) * scales.reshape({rows, 1}).to(once.dtype()),
               after = scaled.detach().reshape({rows, -1});
  const Tensor largest = maximum(amax(abs(before), 1), amax(abs(after), 1));
  const std::vector<bool> differ =
      (amax(abs(after - before), 1) > largest * (once.dtype() == kFloat64 ? 1e-10 : 1e-4)).to_vector<bool>();
  const auto found = std::find(differ.begin(), differ.end(), true);
  return found == differ.end() ? -1 : found - differ.begin();
}

}  // namespace tapegrad::detail
