// Rprop.
#pragma once

#include <tapegrad/optim/optimizer.h>

namespace tapegrad::optim {

struct RpropOptions {
  double lr = 1e-2;          ///< the first step of every element; later values of lr have no influence
  double eta_minus = 0.5;    ///< factor of the step where the gradient's sign changed
  double eta_plus = 1.2;     ///< and where it did not
  double least_step = 1e-6;  ///< lower bound of a step
  double largest_step = 50;  ///< upper bound of a step
};

/// Moves each element by its own step against the sign of its gradient; the step grows while the sign stays, and
/// shrinks when it changes, in which case the element waits for one step. For whole-batch gradients. PyTorch's Rprop;
/// Riedmiller, Braun 1993.
class Rprop : public Optimizer {
 public:
  /// Error for factors that are not 0 < eta_minus < 1 < eta_plus, and steps that are not 0 < least <= largest.
  explicit Rprop(ParameterGroups parameters, RpropOptions options = {});
  std::vector<std::pair<std::string_view, double>> settings() const override {
    return {{"eta_minus", options_.eta_minus},
            {"eta_plus", options_.eta_plus},
            {"least_step", options_.least_step},
            {"largest_step", options_.largest_step}};
  }

 private:
  void update(const Slot& slot, int64_t begin, int64_t end) override;
  RpropOptions options_;
};

}  // namespace tapegrad::optim
