// Shared by normalisations: the wanted gradients; and for those per channel, checks and the recorded gradients.
#pragma once

#include <tapegrad/autograd/op.h>

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
/// [as `variance`] for them with which they do not, and 1 elsewhere. An empty handle if it is not. Not recorded.
Tensor range_factor(const Tensor& x, const Tensor& variance, const Axes& axes);

/// x - mean(x), recorded; 0 where all elements of a row are equal.
Tensor without_mean(const Tensor& x, const Axes& axes);

/// dx, dweight and dbias, made of recorded operations. x is viewed as `view` [n, groups, channels of a group, l] and
/// normalised over `axes` of it, or with the given mean and variance [1, groups, channels, 1].
struct GivenStatistics {
  Tensor mean, var;
};
Grads composed_norm_backward(const Tensor& x, const Tensor& weight, const Shape& view, const Axes& axes, double eps,
                             const GivenStatistics& given, const Tensor& dy);

}  // namespace tapegrad
