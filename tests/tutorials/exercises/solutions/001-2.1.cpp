// A solution of exercise 001-2.1.
#include <tapegrad/tapegrad.h>

#include <cmath>

inline tapegrad::Tensor positions(int64_t length, int64_t dim) {
  std::vector<float> values;
  for (int64_t t = 0; t < length; ++t) {
    for (int64_t j = 0; j < dim; ++j) {
      const double pair = static_cast<double>(j / 2 * 2) / static_cast<double>(dim);
      const double angle = static_cast<double>(t) / std::pow(10000.0, pair);
      values.push_back(static_cast<float>(j % 2 == 0 ? std::sin(angle) : std::cos(angle)));
    }
  }
  return tapegrad::tensor(values, {length, dim});
}
