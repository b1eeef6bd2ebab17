// Shared by normalisations: the wanted gradients; for those per channel, checks and the recorded gradients; the
// arguments of batch_norm's kernels, and what replaces their results in channels of large numbers.
#pragma once

#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops/detail/moments.h>

namespace tapegrad {

/// x [n, c, ...] with l elements per channel of a sample.
struct Channels {
  int64_t n, c, l = 1;
  /// Error unless x, weight and bias are of one floating type, x has the axes N and C, and the others are [C] or empty.
  Channels(const Op& op, const Tensor& x, const Tensor& weight, const Tensor& bias);
};

struct WantedGrads {
  bool x, weight, bias;
  WantedGrads(const Tensor& x, const Tensor& weight, const Tensor& bias)
      : x(needs_grad(x)), weight(needs_grad(weight)), bias(needs_grad(bias)) {}
  bool any() const { return x || weight || bias; }
};

/// Where the variance of finite elements of x over `axes` is so large that derivatives overflow or underflow: a factor
/// for x that prevents it, in the shape of `variance`; 1 elsewhere. An empty handle if none is so large. Not recorded.
Tensor range_factor(const Tensor& x, const Tensor& variance, const Axes& axes);

/// x - mean(x), recorded; 0 where all elements of a row are equal.
Tensor without_mean(const Tensor& x, const Axes& axes);

/// [1, groups, channels of a group, 1], or empty.
struct GivenStatistics {
  Tensor mean, var;
};
/// dx, dweight and dbias, made of recorded operations. x is viewed as `view` [n, groups, channels of a group, l] and
/// normalised over `axes` of it, or with the statistics `given`.
Grads composed_norm_backward(const Tensor& x, const Tensor& weight, const Shape& view, const Axes& axes, double eps,
                             const GivenStatistics& given, const Tensor& dy);

/// The work is cut into pieces: a range of channels of a range of samples.
struct BatchNormPiece {
  int64_t c_begin, c_end, n_begin, n_end;
};

/// What forward computes: y = (x - mean) * scale * weight + bias.
struct BatchNormArgs {
  DType dtype;
  Channels size;
  double eps;
  const void* x;
  const void* weight;  // or nullptr, as bias
  const void* bias;
  void* mean;   // [c], as scale and var
  void* scale;  // 1 / sqrt(var + eps)
  void* var;    // the sample variance, or nullptr
  void* y;
};

struct BatchNormBackwardArgs {
  DType dtype;
  Channels size;
  bool measured;  // mean and scale depend on x
  const void* x;
  const void* weight;
  const void* mean;
  const void* scale;
  const void* dy;
  void* dx;  // or nullptr
};

/// For a finite channel whose squares overflow: computes mean, scale and var in Wide. False for any other.
bool batch_norm_wide_settle(const BatchNormArgs& args, int64_t c);
/// Computes the sums of those channels of a piece again whose scale is so small that its powers underflow, and dx from
/// them.
void batch_norm_wide_sums(const BatchNormBackwardArgs& args, const BatchNormPiece& piece, GradientSums* sums);
void batch_norm_wide_dx(const BatchNormBackwardArgs& args, const BatchNormPiece& piece, const GradientSums* sums);

}  // namespace tapegrad
