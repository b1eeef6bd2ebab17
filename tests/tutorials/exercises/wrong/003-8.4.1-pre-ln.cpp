// expected: 003-8.4.1-pre-ln: wrong. sum, row 1, column 1: expected -4.6800, got -1.9911
#include <tapegrad/tapegrad.h>

#include <functional>

using Block = std::function<tapegrad::Tensor(const tapegrad::Tensor&)>;

// Post-LN.
inline tapegrad::Tensor with_residual(const tapegrad::Tensor& x, const tapegrad::Tensor& gamma,
                                      const tapegrad::Tensor& beta, const Block& block) {
  return tapegrad::layer_norm(x + block(x), gamma, beta);
}
