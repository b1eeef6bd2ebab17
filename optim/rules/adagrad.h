// Adagrad.
#pragma once

#include <tapegrad/optim/optimizer.h>

namespace tapegrad::optim {

struct AdagradOptions {
  double lr = 1e-2;                      ///< learning rate
  double lr_decay = 0;                   ///< step t uses lr / (1 + (t - 1) lr_decay)
  double weight_decay = 0;               ///< times p, added to the gradient
  double initial_accumulator_value = 0;  ///< the sum of squares before the first step
  double eps = 1e-10;                    ///< added to the denominator
};

/// sum += g^2;  p -= lr g / (sqrt(sum) + eps). Duchi, Hazan, Singer 2011.
class Adagrad : public Optimizer {
 public:
  explicit Adagrad(ParameterGroups parameters, AdagradOptions options = {});
  std::vector<std::pair<std::string_view, double>> settings() const override {
    return {{"lr_decay", options_.lr_decay},
            {"initial_accumulator_value", options_.initial_accumulator_value},
            {"eps", options_.eps}};
  }

 private:
  void update(const Slot& slot, int64_t begin, int64_t end) override;
  std::string_view prevents_rows() const override { return ""; }
  AdagradOptions options_;
};

}  // namespace tapegrad::optim
