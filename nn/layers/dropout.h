// Dropout as a module, which train() switches on and eval() off.
#pragma once

#include <tapegrad/nn/module.h>

namespace tapegrad::nn {

/// In training, zeroes each element with probability p and multiplies the others by 1/(1-p). Srivastava et al. 2014.
struct Dropout {
  explicit Dropout(double p = 0.5);  ///< Error unless 0 <= p <= 1
  Tensor operator()(const Tensor& x) const;
  std::string describe() const;
  void visit(auto&&) {}

  double p;              ///< probability that an element becomes zero
  Mode training = true;  ///< false: x is returned unchanged
};

}  // namespace tapegrad::nn
