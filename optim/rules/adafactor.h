// Adafactor.
#pragma once

#include <tapegrad/optim/optimizer.h>

namespace tapegrad::optim {

struct AdafactorOptions {
  double lr = 1e-2;              ///< upper bound of the relative step size; step t uses min(lr, 1 / sqrt(t))
  double beta2_decay = -0.8;     ///< weight of the new value in the running averages: t^beta2_decay
  std::optional<double> eps1{};  ///< lower bound of the root of the averages; default: the type's epsilon
  double eps2 = 1e-3;            ///< lower bound of the parameter's root mean square
  double d = 1;                  ///< upper bound of the root mean square of an update, before scaling
  double weight_decay = 0;       ///< decoupled: p *= 1 - lr weight_decay
};

/// Adam without m, and with v approximated by the product of its row and column means for parameters with two or more
/// axes: it stores a row and a column instead of two matrices. Steps are relative to the magnitude of the parameter.
/// Computed as in PyTorch 2.15. Shazeer, Stern 2018.
class Adafactor : public Optimizer {
 public:
  explicit Adafactor(ParameterGroups parameters, AdafactorOptions options = {});
  std::vector<std::pair<std::string_view, double>> settings() const override {
    return {{"beta2_decay", options_.beta2_decay},
            {"eps1", options_.eps1.value_or(-1)},
            {"eps2", options_.eps2},
            {"d", options_.d}};
  }

 private:
  bool is_elementwise() const override { return false; }
  void update_all(const PoolVector<Slot*>& slots) override;
  void update(const Slot&, int64_t, int64_t) override {}
  AdafactorOptions options_;
};

}  // namespace tapegrad::optim
