// The arguments of batch_norm's kernels, and what replaces their results in channels of large numbers.
#pragma once

#include <tapegrad/autograd/ops/detail/moments.h>
#include <tapegrad/autograd/ops/norm/detail/channel_norm.h>

namespace tapegrad {

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
