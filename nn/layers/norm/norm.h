// Normalisations over the last axes.
#pragma once

#include <tapegrad/nn/module.h>

namespace tapegrad::nn {

struct LayerNormOptions {
  double eps = 1e-5;   ///< added to the variance before its root
  bool affine = true;  ///< false: no weight and no bias
  bool bias = true;    ///< false: no bias
};

/// (x - mean) / sqrt(var + eps) * weight + bias over the last axis, or over the last axes if it is given their sizes:
/// LayerNorm{{4, 5}} for x [..., 4, 5]. Population variance. Ba, Kiros, Hinton 2016. Error for other sizes of x.
struct LayerNorm {
  explicit LayerNorm(int64_t dim, double eps = 1e-5, bool bias = true);
  explicit LayerNorm(int64_t dim, const LayerNormOptions& options) : LayerNorm(Shape{dim}, options) {}
  explicit LayerNorm(const Shape& normalized_shape, const LayerNormOptions& options = {});
  Tensor operator()(const Tensor& x) const;
  std::string describe() const;
  void visit(auto&& field) {
    field("weight", weight);
    field("bias", bias);
  }

  Parameter weight;        // [dim], or the sizes of the axes; ones, or none
  Parameter bias;          // the same; zeros, or none
  Shape normalized_shape;  ///< sizes of the last axes
  double eps;              ///< LayerNormOptions::eps
};

/// gamma * (x - mean) / (std + eps) + beta, population standard deviation: eps is outside the root, as in tutorial 003,
/// section 8.4.1.
struct LayerNormStd {
  explicit LayerNormStd(int64_t dim, double eps = 1e-6);
  Tensor operator()(const Tensor& x) const;
  std::string describe() const;
  void visit(auto&& field) {
    field("gamma", gamma);
    field("beta", beta);
  }

  Parameter gamma;  // [dim], ones
  Parameter beta;   // [dim], zeros
  double eps;       ///< added to the standard deviation
};

struct RMSNormOptions {
  double eps = 1e-6;   ///< added to the mean square before its root
  bool affine = true;  ///< false: no weight
};

/// x / sqrt(mean(x^2) + eps) * weight over the last axis, or over the last axes, as LayerNorm. Zhang, Sennrich 2019.
struct RMSNorm {
  explicit RMSNorm(int64_t dim, double eps = 1e-6);
  explicit RMSNorm(int64_t dim, const RMSNormOptions& options) : RMSNorm(Shape{dim}, options) {}
  explicit RMSNorm(const Shape& normalized_shape, const RMSNormOptions& options = {});
  Tensor operator()(const Tensor& x) const;
  std::string describe() const;
  void visit(auto&& field) { field("weight", weight); }

  Parameter weight;        // [dim], or the sizes of the axes; ones, or none
  Shape normalized_shape;  ///< sizes of the last axes
  double eps;              ///< RMSNormOptions::eps
};

}  // namespace tapegrad::nn
