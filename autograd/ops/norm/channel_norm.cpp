// The common parts of normalisations per channel, except kernels.
// build: -Os
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/norm/detail/channel_norm.h>
#include <tapegrad/autograd/tape.h>

namespace tapegrad {

Channels::Channels(const Op& op, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require_floating(op.name, {&x, &weight, &bias});
  if (x.dim() < 2) fail(op, "expected x [N, C, ...], got shape {}", x.shape());
  n = x.shape()[0];
  c = x.shape()[1];
  for (int i = 2; i < x.dim(); ++i) l *= x.shape()[i];
  for (const auto& [name, parameter] : {std::pair{"weight", &weight}, {"bias", &bias}}) {
    if (parameter->defined() && !(parameter->shape() == Shape{c})) {
      fail(op, "expected {} [{}] for x {}, got shape {}", name, c, x.shape(), parameter->shape());
    }
  }
}

Tensor range_factor(const Tensor& x, const Tensor& variance, const Axes& axes) {
  const Tensor small = variance.detach() <= (x.dtype() == kFloat32 ? 0x1p60 : 0x1p500);
  if (x.numel() == 0 || all(small)) return {};
  const PauseRecording pause;
  const Tensor largest = amax(abs(x.detach()), axes, true);
  return where(logical_not(small) && isfinite(largest), 1 / largest, 1);
}

Tensor without_mean(const Tensor& x, const Axes& axes) {
  const Tensor rough = mean(x, axes, true), centred = x - rough;
  const Tensor error = detail::unrecorded([&] {
    const Tensor difference = centred.detach(), far = square(rough) > 256 * mean(square(difference), axes, true);
    if (!any(far)) return Tensor();                              // is_far
    const Tensor nearer = rough + mean(difference, axes, true);  // rounded, as the mean of the kernels
    return where(far, nearer - rough, 0);
  });
  return error.defined() ? centred - error : centred;
}

Grads composed_norm_backward(const Tensor& given_x, const Tensor& weight, const Shape& view, const Axes& axes,
                             double eps, const GivenStatistics& given, const Tensor& given_dy) {
  const Tensor x = given_x.reshape(view), dy = given_dy.reshape(view);
  const Shape channels{view[1] * view[2]};
  const Tensor g = weight.defined() ? dy * weight.reshape({view[1], view[2], 1}) : dy;
  const bool measured = !given.mean.defined();
  Tensor centred = measured ? without_mean(x, axes) : x - given.mean;
  Tensor spread = (measured ? mean(centred * centred, axes, true) : given.var) + eps;
  const Tensor factor = measured ? range_factor(x, spread, axes) : Tensor();
  if (factor.defined()) {
    const Tensor within = x * factor;
    centred = without_mean(within, axes);
    spread = mean(centred * centred, axes, true) + eps * square(factor);
  }
  const Tensor scale = rsqrt(spread);
  const Tensor normal = centred * scale;
  Tensor dx = measured ? scale * (g - mean(g, axes, true) - normal * mean(g * normal, axes, true)) : scale * g;
  if (factor.defined()) dx = dx * factor;
  return {dx.reshape(given_x.shape()), sum(dy * normal, {0, 3}).reshape(channels), sum(dy, {0, 3}).reshape(channels)};
}

}  // namespace tapegrad
