// NAdam, Adam with Nesterov momentum, and RAdam, Adam with rectified adaptive rates.
#pragma once

#include <tapegrad/optim/optimizer.h>

namespace tapegrad::optim {

struct NAdamOptions {
  double lr = 2e-3;                     ///< learning rate
  double beta1 = 0.9;                   ///< decay of the running average of the gradient
  double beta2 = 0.999;                 ///< decay of the running average of its square
  double eps = 1e-8;                    ///< added to the denominator
  double weight_decay = 0;              ///< times p, added to the gradient
  double momentum_decay = 4e-3;         ///< the momentum grows towards beta1, the slower the smaller this is
  bool decoupled_weight_decay = false;  ///< p *= 1 - lr weight_decay instead
};

/// With mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2), and m and v as in Adam,
/// p -= lr ((1 - mu_t) g / (1 - mu_1 ... mu_t) + mu_t+1 m / (1 - mu_1 ... mu_t+1)) / (sqrt(v / (1 - beta2^t)) + eps).
/// Dozat 2016.
class NAdam : public Optimizer {
 public:
  explicit NAdam(ParameterGroups parameters, NAdamOptions options = {});
  std::vector<std::pair<std::string_view, double>> settings() const override {
    return {{"beta1", options_.beta1},
            {"beta2", options_.beta2},
            {"eps", options_.eps},
            {"momentum_decay", options_.momentum_decay},
            {"decoupled_weight_decay", double(options_.decoupled_weight_decay)}};
  }

 private:
  struct Product {  // mu_1 ... mu_steps
    int64_t steps;
    double value;
  };
  void begin_step(int64_t steps) override;
  void update_all(const PoolVector<Slot*>& slots) override;
  void update(const Slot& slot, int64_t begin, int64_t end) override;
  double mu(int64_t step) const;
  Product product_of(int64_t steps) const;
  NAdamOptions options_;
  // Those that parameters need in this step, sorted, and those of the previous one, which they continue.
  std::vector<Product> products_, previous_;
};

struct RAdamOptions {
  double lr = 1e-3;                     ///< learning rate
  double beta1 = 0.9;                   ///< decay of the running average of the gradient
  double beta2 = 0.999;                 ///< decay of the running average of its square
  double eps = 1e-8;                    ///< added to the denominator
  double weight_decay = 0;              ///< times p, added to the gradient
  bool decoupled_weight_decay = false;  ///< p *= 1 - lr weight_decay instead
};

/// Adam whose first steps use plain momentum, because the variance of 1 / sqrt(v) is unbounded; later steps are scaled
/// by a rectification term derived from that variance. Liu et al. 2019.
class RAdam : public Optimizer {
 public:
  explicit RAdam(ParameterGroups parameters, RAdamOptions options = {});
  std::vector<std::pair<std::string_view, double>> settings() const override {
    return {{"beta1", options_.beta1},
            {"beta2", options_.beta2},
            {"eps", options_.eps},
            {"decoupled_weight_decay", double(options_.decoupled_weight_decay)}};
  }

 private:
  void update(const Slot& slot, int64_t begin, int64_t end) override;
  RAdamOptions options_;
};

}  // namespace tapegrad::optim
