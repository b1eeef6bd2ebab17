// A solution of exercise 000-4.
#include <tapegrad/tapegrad.h>

#include <cmath>
#include <numbers>

inline tapegrad::Tensor my_gelu(const tapegrad::Tensor& x) {
  const tapegrad::Tensor inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * tapegrad::pow(x, 3));
  return 0.5 * x * (1 + tapegrad::tanh(inner));
}
