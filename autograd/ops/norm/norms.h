// Normalisation over the last axes and per channel.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

// --- normalisation over the last axes (autograd/ops/norm/norm.cpp), fused, floating ---

/// (x - mean) / sqrt(var + eps) * weight + bias over the axes of `weight` and `bias`; over the last axis if both are
/// empty handles. Population variance. Ba, Kiros, Hinton 2016.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps = 1e-5);
/// gamma * (x - mean) / (std + eps) + beta, with the population standard deviation and eps outside the root, as in
/// tutorial 003, section 8.4.1.
Tensor layer_norm_std(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps = 1e-6);
/// x / sqrt(mean(x^2) + eps) * weight over the axes of `weight`, or over the last axis if it is an empty handle. Zhang,
/// Sennrich 2019.
Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps = 1e-6);

// --- normalisation per channel (autograd/ops/norm/batch_norm.cpp, group_norm.cpp), fused, floating ---
// x [N, C, ...]; weight and bias [C]; either may be an empty handle. A NaN or an infinity makes all elements NaN that
// are normalised together with it.

/// (x - mean) / sqrt(var + eps) * weight + bias with these statistics [C]: the form for evaluation. The statistics
/// are constants; Error if they require gradients. Ioffe, Szegedy 2015.
Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);
struct BatchNormed {
  Tensor y;     ///< in the shape of x
  Tensor mean;  ///< [C], of the batch
  Tensor var;   ///< [C], the batch's sample variance (divided by n - 1), for the running statistics
};
/// The same with the mean and population variance of the batch: the form for training. Returns the statistics, so that
/// the caller can update running ones; no gradient flows through them. They are NaN for an empty batch. Error if a
/// channel has only one element.
BatchNormed batch_norm_training(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);
/// The same with the mean and population variance of each sample's groups of adjacent channels. Error unless
/// `num_groups` divides C, and if x has exactly `num_groups` elements. Wu, He 2018.
Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);
/// group_norm with one channel of x [N, C, L, ...] per group. Error if a channel of a sample has only one element.
/// Ulyanov, Vedaldi, Lempitsky 2016.
Tensor instance_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);

}  // namespace tapegrad
