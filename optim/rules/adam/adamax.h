// Adamax.
#pragma once

#include <tapegrad/optim/optimizer.h>

namespace tapegrad::optim {

struct AdamaxOptions {
  double lr = 2e-3;         ///< learning rate
  double beta1 = 0.9;       ///< decay of the running average of the gradient
  double beta2 = 0.999;     ///< decay of the running maximum of its magnitude
  double eps = 1e-8;        ///< added to the denominator
  double weight_decay = 0;  ///< times p, added to the gradient
};

/// m = beta1 m + (1 - beta1) g;  u = max(beta2 u, |g| + eps);  p -= lr / (1 - beta1^t) * m / u: Adam with the largest
/// gradient so far in place of the root of v. Kingma, Ba 2014, section 7.1.
class Adamax : public Optimizer {
 public:
  explicit Adamax(ParameterGroups parameters, AdamaxOptions options = {});
  std::vector<std::pair<std::string_view, double>> settings() const override {
    return {{"beta1", options_.beta1}, {"beta2", options_.beta2}, {"eps", options_.eps}};
  }

 private:
  void update(const Slot& slot, int64_t begin, int64_t end) override;
  AdamaxOptions options_;
};

}  // namespace tapegrad::optim
