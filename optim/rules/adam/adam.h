// Adam and AdamW, in PyTorch's order of arithmetic.
#pragma once

#include <tapegrad/optim/optimizer.h>

namespace tapegrad::optim {

struct AdamOptions {
  double lr = 1e-3;                      ///< learning rate
  double beta1 = 0.9;                    ///< decay of the running average of the gradient
  double beta2 = 0.999;                  ///< decay of the running average of its square
  double eps = 1e-8;                     ///< added to the denominator
  std::optional<double> weight_decay{};  ///< left out: 0 for Adam, 0.01 for AdamW, as in PyTorch
  bool amsgrad = false;                  ///< divide by the largest v so far. Reddi et al. 2018
};
/// Of AdamW: the same members.
using AdamWOptions = AdamOptions;

/// m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;
/// p -= lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps). Weight decay times p is added to the gradient.
/// One pass over memory updates p, m and v. Kingma, Ba 2014. Of a sparse gradient (nn::EmbeddingOptions::sparse), only
/// the rows that occur change, with m and v, and eps is added to sqrt(v) itself: PyTorch's SparseAdam.
class Adam : public Optimizer {
 public:
  explicit Adam(ParameterGroups parameters, AdamOptions options = {});
  std::vector<std::pair<std::string_view, double>> settings() const override {
    return {{"beta1", options_.beta1},
            {"beta2", options_.beta2},
            {"eps", options_.eps},
            {"amsgrad", double(options_.amsgrad)},
            {"decoupled", double(decoupled_)}};
  }

 protected:
  Adam(ParameterGroups parameters, AdamOptions options, bool decoupled);

 private:
  void update(const Slot& slot, int64_t begin, int64_t end) override;
  std::string_view prevents_rows() const override { return options_.amsgrad ? "amsgrad" : ""; }
  AdamOptions options_;
  bool decoupled_ = false;
};

/// Adam with decoupled weight decay, which shrinks the parameter itself: p *= 1 - lr weight_decay. Loshchilov, Hutter
/// 2017.
class AdamW : public Adam {
 public:
  explicit AdamW(ParameterGroups parameters, AdamWOptions options = {});
};

}  // namespace tapegrad::optim
