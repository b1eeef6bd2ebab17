// RMSprop.
#pragma once

#include <tapegrad/optim/optimizer.h>

namespace tapegrad::optim {

struct RMSpropOptions {
  double lr = 1e-2;         ///< learning rate
  double alpha = 0.99;      ///< decay of the running average
  double eps = 1e-8;        ///< added to the denominator
  double weight_decay = 0;  ///< times p, added to the gradient
  double momentum = 0;      ///< decay of the momentum; 0: none
  bool centered = false;    ///< subtract the square of the running mean of g from v
};

/// v = alpha v + (1 - alpha) g^2;  p -= lr g / (sqrt(v) + eps), or with momentum buf = momentum buf + g / (sqrt(v) +
/// eps);  p -= lr buf. Tieleman, Hinton 2012; centred: Graves 2013.
class RMSprop : public Optimizer {
 public:
  explicit RMSprop(ParameterGroups parameters, RMSpropOptions options = {});
  std::vector<std::pair<std::string_view, double>> settings() const override {
    return {{"alpha", options_.alpha},
            {"eps", options_.eps},
            {"momentum", options_.momentum},
            {"centered", double(options_.centered)}};
  }

 private:
  void update(const Slot& slot, int64_t begin, int64_t end) override;
  RMSpropOptions options_;
};

}  // namespace tapegrad::optim
