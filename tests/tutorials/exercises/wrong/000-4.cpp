// expected: 000-4: wrong. gelu, row 1, column 1: expected -0.0928, got -0.1195
#include <tapegrad/tapegrad.h>

#include <cmath>
#include <numbers>

// Without the cubic term.
inline tapegrad::Tensor my_gelu(const tapegrad::Tensor& x) {
  return 0.5 * x * (1 + tapegrad::tanh(std::sqrt(2 / std::numbers::pi) * x));
}
