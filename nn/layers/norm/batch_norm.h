// Normalisation per channel: over the batch, over groups of channels, and over each channel of a sample.
#pragma once

#include <tapegrad/nn/module.h>

#include <optional>
#include <string_view>

namespace tapegrad::nn {

struct BatchNormOptions {
  double eps = 1e-5;  ///< added to the variance before its root
  /// The weight of the latest batch in the running statistics; std::nullopt: they are the average over all batches.
  std::optional<double> momentum = 0.1;
  bool affine = true;               ///< false: no weight and no bias
  bool track_running_stats = true;  ///< false: no running statistics; evaluation uses those of the batch, too
  bool bias = true;                 ///< false: no bias
};

namespace detail {

// The members of a norm of channels that may keep running statistics.
struct ChannelNorm {
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
  int64_t num_features;                ///< C
  double eps;                          ///< as in the options
  Mode training = true;                ///< false: running statistics are used, not updated

 protected:
  template <class Options>
  ChannelNorm(std::string_view where, int64_t num_features, const Options& options);
};

// A norm of x that has so many axes after the channels.
template <class Norm, int axes>
struct WithAxes : Norm {
  using Norm::Norm;
  Tensor operator()(const Tensor& x) const { return this->with_axes(x, axes); }
};

}  // namespace detail

/// (x - mean) / sqrt(var + eps) * weight + bias per channel, of x [N, C] or [N, C, ...]. Ioffe, Szegedy 2015.
///
/// Training uses the statistics of the batch and updates the running ones; evaluation uses the running ones. The
/// running statistics are the only members of a module that a const call changes, so only one thread at a time may call
/// it in training. They are buffers, and get no gradient. In a distributed::DataParallel they are those of all batches
/// of a step, in order, on every process. recompute() runs the module twice but updates them once. An empty batch only
/// increments num_batches_tracked. Error unless num_features is positive, and for another number of channels.
struct BatchNorm : detail::ChannelNorm {
  explicit BatchNorm(int64_t num_features, const BatchNormOptions& options = {});
  Tensor operator()(const Tensor& x) const;

  std::optional<double> momentum;  ///< BatchNormOptions::momentum

 protected:
  Tensor with_axes(const Tensor& x, int axes) const;
};

/// BatchNorm of x [N, C] or [N, C, L]. Error for other shapes.
struct BatchNorm1d : detail::WithAxes<BatchNorm, 1> {
  using WithAxes::WithAxes;
};

/// BatchNorm of x [N, C, H, W]. Error for other shapes.
struct BatchNorm2d : detail::WithAxes<BatchNorm, 2> {
  using WithAxes::WithAxes;
};

/// BatchNorm of x [N, C, D, H, W]. Error for other shapes.
struct BatchNorm3d : detail::WithAxes<BatchNorm, 3> {
  using WithAxes::WithAxes;
};

/// Normalises each sample of x [N, C, ...] over `num_groups` groups of adjacent channels, identically in training and
/// evaluation. Error unless num_groups divides num_channels. Wu, He 2018.
struct GroupNorm {
  explicit GroupNorm(int64_t num_groups, int64_t num_channels, double eps = 1e-5, bool affine = true, bool bias = true);
  Tensor operator()(const Tensor& x) const;
  void visit(auto&& field) {
    field("weight", weight);
    field("bias", bias);
  }

  Parameter weight;                  // [C], ones, or none
  Parameter bias;                    // [C], zeros, or none
  int64_t num_groups, num_channels;  ///< num_channels is a multiple of num_groups
  double eps;                        ///< added to the variance before its root
};

struct InstanceNormOptions {
  double eps = 1e-5;                 ///< added to the variance before its root
  double momentum = 0.1;             ///< the weight of the newest batch in the running statistics
  bool affine = false;               ///< true: weight and bias
  bool track_running_stats = false;  ///< true: running statistics, which evaluation uses instead of a sample's own
  bool bias = true;                  ///< false: no bias, with affine
};

/// Each channel of each sample of x [N, C, ...] normalised by itself. Ulyanov, Vedaldi, Lempitsky 2016.
///
/// The same in training and evaluation, unless running statistics are tracked: training updates them with the mean over
/// the batch of the samples' means and variances, as BatchNorm updates its own; evaluation uses them. As in PyTorch,
/// num_batches_tracked is in the state but does not change.
struct InstanceNorm : detail::ChannelNorm {
  explicit InstanceNorm(int64_t num_features, const InstanceNormOptions& options = {});
  Tensor operator()(const Tensor& x) const;

  double momentum;  ///< InstanceNormOptions::momentum

 protected:
  Tensor with_axes(const Tensor& x, int axes) const;
};

/// InstanceNorm of x [N, C, L] or [C, L]. Error for other shapes.
struct InstanceNorm1d : detail::WithAxes<InstanceNorm, 1> {
  using WithAxes::WithAxes;
};

/// InstanceNorm of x [N, C, H, W] or [C, H, W]. Error for other shapes.
struct InstanceNorm2d : detail::WithAxes<InstanceNorm, 2> {
  using WithAxes::WithAxes;
};

/// InstanceNorm of x [N, C, D, H, W] or [C, D, H, W]. Error for other shapes.
struct InstanceNorm3d : detail::WithAxes<InstanceNorm, 3> {
  using WithAxes::WithAxes;
};

}  // namespace tapegrad::nn
