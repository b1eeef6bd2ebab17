// expected: 001-2.1: wrong. positions, row 2, column 2: expected 0.5403, got 0.9504
#include <tapegrad/tapegrad.h>

#include <cmath>

// Each dimension has an angle of its own.
inline tapegrad::Tensor positions(int64_t length, int64_t dim) {
  std::vector<float> values;
  for (int64_t t = 0; t < length; ++t) {
    for (int64_t j = 0; j < dim; ++j) {
      const double angle =
          static_cast<double>(t) / std::pow(10000.0, static_cast<double>(j) / static_cast<double>(dim));
      values.push_back(static_cast<float>(j % 2 == 0 ? std::sin(angle) : std::cos(angle)));
    }
  }
  return tapegrad::tensor(values, {length, dim});
}
