// Scales of rows, and the comparison of gradients with them.
// build: -Os
#include <tapegrad/autograd/derivatives/detail/scales.h>

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
  const std::vector<double> before = once.detach().to(kFloat64).to_vector<double>(),
                            after = scaled.detach().to(kFloat64).to_vector<double>(),
                            by = scales.to(kFloat64).to_vector<double>();
  const double tolerance = once.dtype() == kFloat64 ? 1e-10 : 1e-4;
  const std::size_t rows = by.size(), width = rows == 0 ? 0 : before.size() / rows;
  for (std::size_t row = 0; row < rows; ++row) {
    double largest = 0, difference = 0;
    for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
      largest = std::max({largest, std::abs(after[i]), std::abs(before[i] * by[row])});
      difference = std::max(difference, std::abs(after[i] - before[i] * by[row]));
    }
    if (difference > tolerance * largest) return static_cast<int64_t>(row);
  }
  return -1;
}

}  // namespace tapegrad::detail
