// Muon.
#pragma once

#include <tapegrad/optim/optimizer.h>

#include <array>

namespace tapegrad::optim {

/// How the learning rate of an [m, n] parameter is scaled.
enum class MuonScale {
  original,     ///< by sqrt(max(1, m / n))
  match_adamw,  ///< by 0.2 sqrt(max(m, n)), which makes updates as large as AdamW's
  spectral,     ///< by sqrt(m / n)
};

struct MuonOptions {
  double lr = 1e-3;                                             ///< learning rate
  double weight_decay = 0.1;                                    ///< decoupled: p *= 1 - lr weight_decay
  double momentum = 0.95;                                       ///< decay of the momentum; 0: none
  bool nesterov = true;                                         ///< the update looks one step of the momentum ahead
  std::array<double, 3> coefficients{3.4445, -4.7750, 2.0315};  ///< of the iteration: a, b, c
  double eps = 1e-7;                      ///< lower bound of the norm that the update is first divided by
  int iterations = 5;                     ///< Newton-Schulz steps
  MuonScale scale = MuonScale::original;  ///< of the orthogonal update
};

/// Momentum whose update is replaced by an approximation of the nearest orthogonal matrix: five Newton-Schulz
/// iterations x = a x + (b x x^T + c (x x^T)^2) x, with every product rounded to bfloat16, as in PyTorch 2.15. For
/// parameters with two axes, the weights of hidden layers; use AdamW for embeddings, biases, gains and the output
/// layer. Error for another number of axes. Jordan et al. 2024.
class Muon : public Optimizer {
 public:
  explicit Muon(ParameterGroups parameters, MuonOptions options = {});
  std::vector<std::pair<std::string_view, double>> settings() const override {
    return {{"momentum", options_.momentum},
            {"nesterov", double(options_.nesterov)},
            {"a", options_.coefficients[0]},
            {"b", options_.coefficients[1]},
            {"c", options_.coefficients[2]},
            {"eps", options_.eps},
            {"iterations", double(options_.iterations)},
            {"scale", double(options_.scale)}};
  }

 private:
  bool is_elementwise() const override { return false; }
  void update_all(const PoolVector<Slot*>& slots) override;
  void update(const Slot&, int64_t, int64_t) override {}
  MuonOptions options_;
};

}  // namespace tapegrad::optim
