// Adadelta.
#pragma once

#include <tapegrad/optim/optimizer.h>

namespace tapegrad::optim {

struct AdadeltaOptions {
  double lr = 1;            ///< learning rate
  double rho = 0.9;         ///< of both running averages
  double eps = 1e-6;        ///< added to the denominator
  double weight_decay = 0;  ///< times p, added to the gradient
};

/// v = rho v + (1 - rho) g^2;  d = sqrt(w + eps) / sqrt(v + eps) g;  w = rho w + (1 - rho) d^2;  p -= lr d. Zeiler
/// 2012.
class Adadelta : public Optimizer {
 public:
  explicit Adadelta(ParameterGroups parameters, AdadeltaOptions options = {});
  std::vector<std::pair<std::string_view, double>> settings() const override {
    return {{"rho", options_.rho}, {"eps", options_.eps}};
  }

 private:
  void update(const Slot& slot, int64_t begin, int64_t end) override;
  AdadeltaOptions options_;
};

}  // namespace tapegrad::optim
