// A solution of exercise 003-8.3.2.
#include <tapegrad/tapegrad.h>

#include <cmath>

inline tapegrad::Tensor rotated(const tapegrad::Tensor& x, double base) {
  auto values = x.to_vector<float>();
  const int64_t length = x.size(0), dim = x.size(1);
  for (int64_t t = 0; t < length; ++t) {
    for (int64_t j = 0; j < dim; j += 2) {
      const double angle = static_cast<double>(t) / std::pow(base, static_cast<double>(j) / static_cast<double>(dim));
      float& first = values[static_cast<std::size_t>(t * dim + j)];
      float& second = values[static_cast<std::size_t>(t * dim + j + 1)];
      const double a = first, b = second;
      first = static_cast<float>(a * std::cos(angle) - b * std::sin(angle));
      second = static_cast<float>(a * std::sin(angle) + b * std::cos(angle));
    }
  }
  return tapegrad::tensor(values, {length, dim});
}
