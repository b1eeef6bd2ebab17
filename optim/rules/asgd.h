// ASGD.
#pragma once

#include <tapegrad/optim/optimizer.h>

namespace tapegrad::optim {

struct ASGDOptions {
  double lr = 1e-2;         ///< learning rate
  double lambd = 1e-4;      ///< decay of the parameter, p *= 1 - lambd eta, and of eta
  double alpha = 0.75;      ///< power with which eta falls
  double t0 = 1e6;          ///< steps before the average begins
  double weight_decay = 0;  ///< times p, added to the gradient
};

/// SGD whose rate falls, eta = lr / (1 + lambd lr (t - 1))^alpha, with an average of each parameter, "ax.<name>" in
/// state(). It is the parameter itself in the first t0 + 2 steps, and later the mean of all values since step t0 + 1.
/// PyTorch's ASGD; Polyak, Juditsky 1992.
class ASGD : public Optimizer {
 public:
  /// Error for a lambd, alpha or weight_decay that is negative or not finite, and for a t0 that is not finite.
  explicit ASGD(ParameterGroups parameters, ASGDOptions options = {});
  std::vector<std::pair<std::string_view, double>> settings() const override {
    return {{"lambd", options_.lambd}, {"alpha", options_.alpha}, {"t0", options_.t0}};
  }

 private:
  void update(const Slot& slot, int64_t begin, int64_t end) override;
  ASGDOptions options_;
};

}  // namespace tapegrad::optim
