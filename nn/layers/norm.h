// Normalisations over the last axis.
#pragma once

#include <tapegrad/nn/module.h>

namespace tapegrad::nn {

/// (x - mean) / sqrt(var + eps) * weight + bias, population variance. Ba, Kiros, Hinton 2016.
struct LayerNorm {
  explicit LayerNorm(int64_t dim, double eps = 1e-5, bool bias = true);
  Tensor operator()(const Tensor& x) const;
  void visit(auto&& field) {
    field("weight", weight);
    field("bias", bias);
  }

  Parameter weight;  // [dim], ones
  Parameter bias;    // [dim], zeros, or none
  double eps;
};

/// gamma * (x - mean) / (std + eps) + beta, population standard deviation: eps is outside the root, as in tutorial 003,
/// section 8.4.1.
struct LayerNormStd {
  explicit LayerNormStd(int64_t dim, double eps = 1e-6);
  Tensor operator()(const Tensor& x) const;
  void visit(auto&& field) {
    field("gamma", gamma);
    field("beta", beta);
  }

  Parameter gamma;  // [dim], ones
  Parameter beta;   // [dim], zeros
  double eps;
};

/// x / sqrt(mean(x^2) + eps) * weight. Zhang, Sennrich 2019.
struct RMSNorm {
  explicit RMSNorm(int64_t dim, double eps = 1e-6);
  Tensor operator()(const Tensor& x) const;
  void visit(auto&& field) { field("weight", weight); }

  Parameter weight;  // [dim], ones
  double eps;
};

}  // namespace tapegrad::nn
