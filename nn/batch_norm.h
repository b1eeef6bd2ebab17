// Normalisation per channel: over the batch, over groups of channels, and over each channel of a sample.
#pragma once

#include <tapegrad/nn/module.h>

#include <optional>

namespace tapegrad::nn {

struct BatchNormOptions {
  double eps = 1e-5;
  /// The weight of the newest batch in the running statistics; std::nullopt: they are the average of all batches.
  std::optional<double> momentum = 0.1;
  bool affine = true;               ///< false: no weight and no bias
  bool track_running_stats = true;  ///< false: no running statistics; evaluation also uses those of the batch
};

/// (x - mean) / sqrt(var + eps) * weight + bias per channel, of x [N, C] or [N, C, ...]. Ioffe, Szegedy 2015.
///
/// In training with the statistics of the batch, which update the running ones; in evaluation with the running ones.
/// The running statistics are the only members of a module that a const call changes: in training, one thread at a time
/// may call it. They are not parameters, so gradients do not depend on them; recompute() runs the module twice and
/// updates them once. An empty batch changes num_batches_tracked only.
struct BatchNorm {
  explicit BatchNorm(int64_t num_features, const BatchNormOptions& options = {});
  Tensor operator()(const Tensor& x) const;
  void visit(auto&& field) {
    field("weight", weight);
    field("bias", bias);
    field("running_mean", running_mean);
    field("running_var", running_var);
    field("num_batches_tracked", num_batches_tracked);
  }

  Parameter weight;                    // [C], ones, or none
  Parameter bias;                      // [C], zeros, or none
  mutable Buffer running_mean;         // [C], zeros, or none
  mutable Buffer running_var;          // [C], ones, or none: of sample variances
  mutable Buffer num_batches_tracked;  // int64, 0, or none
  int64_t num_features;
  double eps;
  std::optional<double> momentum;
  bool training = true;
};

/// BatchNorm of x [N, C] or [N, C, L]. Error for other shapes.
struct BatchNorm1d : BatchNorm {
  using BatchNorm::BatchNorm;
  Tensor operator()(const Tensor& x) const;
};

/// BatchNorm of x [N, C, H, W]. Error for other shapes.
struct BatchNorm2d : BatchNorm {
  using BatchNorm::BatchNorm;
  Tensor operator()(const Tensor& x) const;
};

/// Each sample of x [N, C, ...] normalised over `num_groups` groups of neighbouring channels, the same in training and
/// evaluation. Wu, He 2018.
struct GroupNorm {
  explicit GroupNorm(int64_t num_groups, int64_t num_channels, double eps = 1e-5, bool affine = true);
  Tensor operator()(const Tensor& x) const;
  void visit(auto&& field) {
    field("weight", weight);
    field("bias", bias);
  }

  Parameter weight;  // [C], ones, or none
  Parameter bias;    // [C], zeros, or none
  int64_t num_groups;
  double eps;
};

/// Each channel of each sample of x [N, C, L] or [C, L] normalised by itself, the same in training and evaluation.
/// Ulyanov, Vedaldi, Lempitsky 2016.
struct InstanceNorm1d {
  explicit InstanceNorm1d(int64_t num_features, double eps = 1e-5, bool affine = false);
  Tensor operator()(const Tensor& x) const;
  void visit(auto&& field) {
    field("weight", weight);
    field("bias", bias);
  }

  Parameter weight;  // [C], ones, or none
  Parameter bias;    // [C], zeros, or none
  double eps;
};

/// The same of x [N, C, H, W] or [C, H, W].
struct InstanceNorm2d {
  explicit InstanceNorm2d(int64_t num_features, double eps = 1e-5, bool affine = false);
  Tensor operator()(const Tensor& x) const;
  void visit(auto&& field) {
    field("weight", weight);
    field("bias", bias);
  }

  Parameter weight;
  Parameter bias;
  double eps;
};

}  // namespace tapegrad::nn
