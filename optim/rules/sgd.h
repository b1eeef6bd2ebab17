// Stochastic gradient descent.
#pragma once

#include <tapegrad/optim/optimizer.h>

namespace tapegrad::optim {

struct SGDOptions {
  double lr = 1e-3;         ///< learning rate
  double momentum = 0;      ///< decay of the momentum; 0: none
  double dampening = 0;     ///< the gradient enters the momentum times 1 - dampening
  double weight_decay = 0;  ///< times p, added to the gradient
  bool nesterov = false;    ///< Error without momentum, and with dampening
};

/// g += weight_decay p;  buf = momentum buf + (1 - dampening) g (at first buf = g);  p -= lr buf, or with Nesterov
/// p -= lr (g + momentum buf). As PyTorch computes it. Sutskever et al. 2013.
class SGD : public Optimizer {
 public:
  explicit SGD(ParameterGroups parameters, SGDOptions options = {});
  std::vector<std::pair<std::string_view, double>> settings() const override {
    return {
        {"momentum", options_.momentum}, {"dampening", options_.dampening}, {"nesterov", double(options_.nesterov)}};
  }

 private:
  void update(const Slot& slot, int64_t begin, int64_t end) override;
  std::string_view prevents_rows() const override { return options_.momentum != 0 ? "momentum" : ""; }
  SGDOptions options_;
};

}  // namespace tapegrad::optim
