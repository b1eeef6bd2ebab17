// Complex waves of learned amplitude, frequency and phase.
#pragma once

#include <tapegrad/nn/module.h>

namespace tapegrad::nn {

/// z(i) = r e^(i phi(i)) for every pair of elements, phi(i) = omega i + theta, with learned amplitude r, frequency
/// omega and phase theta: P(i) has the real parts at even indices and the imaginary parts at odd ones. r does not
/// depend on the position, so z(i + j) = z(i) e^(i omega j). Initially: sinusoidal positions with cosines first.
/// Wang et al. 2020, "Encoding Word Order in Complex Embeddings".
struct ComplexPositions {
  explicit ComplexPositions(int64_t dim);                      ///< Error for an odd dim
  Tensor operator()(int64_t length, int64_t start = 0) const;  ///< [length, dim]
  void visit(auto&& field) {
    field("amplitude", amplitude);
    field("frequency", frequency);
    field("phase", phase);
  }

  Parameter amplitude, frequency, phase;  // [dim / 2] each: 1, 10000^(-2k/dim), 0
};

}  // namespace tapegrad::nn
