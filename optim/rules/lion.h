// Lion.
#pragma once

#include <tapegrad/optim/optimizer.h>

namespace tapegrad::optim {

struct LionOptions {
  double lr = 1e-4;         ///< learning rate
  double beta1 = 0.9;       ///< weight of the momentum in the update
  double beta2 = 0.99;      ///< decay of the momentum
  double weight_decay = 0;  ///< decoupled: p *= 1 - lr weight_decay
};

/// p -= lr sign(beta1 m + (1 - beta1) g); m = beta2 m + (1 - beta2) g. Every element moves by lr, so lr should be a
/// third to a tenth of Adam's. Chen et al. 2023.
class Lion : public Optimizer {
 public:
  explicit Lion(ParameterGroups parameters, LionOptions options = {});
  std::vector<std::pair<std::string_view, double>> settings() const override {
    return {{"beta1", options_.beta1}, {"beta2", options_.beta2}};
  }

 private:
  void update(const Slot& slot, int64_t begin, int64_t end) override;
  LionOptions options_;
};

}  // namespace tapegrad::optim
