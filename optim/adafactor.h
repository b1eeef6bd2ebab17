// Adafactor.
#pragma once

#include <tapegrad/optim/optimizer.h>

namespace tapegrad::optim {

struct AdafactorOptions {
  double lr = 1e-2;              ///< the largest relative step; step t uses min(lr, 1 / sqrt(t))
  double beta2_decay = -0.8;     ///< the running averages take a share of t^beta2_decay of the new value
  std::optional<double> eps1{};  ///< lower bound of the root of the averages; left out: the type's epsilon
  double eps2 = 1e-3;            ///< lower bound of the parameter's root mean square
  double d = 1;                  ///< largest root mean square of an update, before it is scaled
  double weight_decay = 0;       ///< decoupled: p *= 1 - lr weight_decay
};

/// Adam without m, whose v of a parameter with two or more axes is the product of its row and column means: memory for
/// a row and a column in place of two matrices. Steps are relative to the size of the parameter. As PyTorch 2.15
/// computes it. Shazeer, Stern 2018.
class Adafactor : public Optimizer {
 public:
  explicit Adafactor(NamedTensors parameters, AdafactorOptions options = {});
  explicit Adafactor(std::vector<ParameterGroup> groups, AdafactorOptions options = {});

 private:
  void update_all(const std::vector<Slot*>& slots) override;
  void update(const Slot&, int64_t, int64_t) override {}
  AdafactorOptions options_;
};

}  // namespace tapegrad::optim
