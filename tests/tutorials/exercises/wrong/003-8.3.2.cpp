// expected: 003-8.3.2: wrong. rotated, row 2, column 3: expected -1.8213, got -0.6912
#include <tapegrad/tapegrad.h>

#include <cmath>

// All pairs rotate equally fast.
inline tapegrad::Tensor rotated(const tapegrad::Tensor& x, double) {
  auto values = x.to_vector<float>();
  const int64_t length = x.size(0), dim = x.size(1);
  for (int64_t t = 0; t < length; ++t) {
    const double angle = static_cast<double>(t);
    for (int64_t j = 0; j < dim; j += 2) {
      float& first = values[static_cast<std::size_t>(t * dim + j)];
      float& second = values[static_cast<std::size_t>(t * dim + j + 1)];
      const double a = first, b = second;
      first = static_cast<float>(a * std::cos(angle) - b * std::sin(angle));
      second = static_cast<float>(a * std::sin(angle) + b * std::cos(angle));
    }
  }
  return tapegrad::tensor(values, {length, dim});
}
