// Normalisation per channel as modules.
#include <tapegrad/autograd/internal/draw_log.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/forward_updates.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/batch_norm.h>
#include <tapegrad/nn/detail/check.h>

namespace tapegrad::nn {

namespace {

Parameter filled(std::string_view where, bool wanted, int64_t channels, double value) {
  require_positive(where, "the number of channels", channels);
  return wanted ? Parameter(full({channels}, value)) : Parameter();
}

constexpr std::string_view kSpatialAxes[] = {"L", "H, W", "D, H, W"};  // after the channels

// running = (1 - part) * running + part * newest
void mix(Buffer& running, const Tensor& newest, double part) {
  running.set(running.tensor() * (1 - part) + newest.to(running->dtype()) * part);
}

// Calls update(mean, var, whether the batch has elements), now or when the statistics of other processes are known.
void update_running(const void* module, const Tensor& mean, const Tensor& var, bool any, const auto& update) {
  using tapegrad::detail::ForwardUpdates;
  if (tapegrad::detail::DrawLog::replaying()) return;
  ForwardUpdates* const later = ForwardUpdates::current();
  if (!later) return update(mean, var, any);
  later->add({module, stack({mean, var, full(mean.shape(), any ? 1 : 0, mean.dtype())}), [update](const Tensor& found) {
                update(found.select(0, 0), found.select(0, 1), found.select(0, 2).slice(0, 0, 1).item() != 0);
              }});
}

// Error unless x is [N, C, ...].
void require_features(const Parameter& own, std::string_view where, const Tensor& x, int64_t num_features) {
  if (x.dim() < 2 || x.shape()[1] != num_features)
    fail_near(own, where, fmt::format("expected x [N, {}, ...], got shape {}", num_features, str(x.shape())));
}

}  // namespace

template <class Options>
detail::ChannelNorm::ChannelNorm(std::string_view where, int64_t num_features, const Options& options)
    : weight(filled(where, options.affine, num_features, 1)),
      bias(filled(where, options.affine && options.bias, num_features, 0)),
      num_features(num_features),
      eps(options.eps) {
  if (!options.track_running_stats) return;
  running_mean = Buffer(zeros({num_features}));
  running_var = Buffer(ones({num_features}));
  num_batches_tracked = Buffer(zeros({}, kInt64));
}

BatchNorm::BatchNorm(int64_t num_features, const BatchNormOptions& options)
    : ChannelNorm("batch_norm", num_features, options), momentum(options.momentum) {}

Tensor BatchNorm::operator()(const Tensor& x) const {
  require_features(weight, "batch_norm", x, num_features);
  if (!training && running_mean.defined()) return batch_norm(x, running_mean, running_var, weight, bias, eps);
  const BatchNormed batch = batch_norm_training(x, weight, bias, eps);
  if (training && running_mean.defined())
    update_running(this, batch.mean, batch.var, x.numel() > 0, [this](const Tensor& mean, const Tensor& var, bool any) {
      num_batches_tracked.set(num_batches_tracked.tensor() + 1);
      const double part = momentum ? *momentum : 1 / num_batches_tracked->item();
      if (!any) return;
      mix(running_mean, mean, part);
      mix(running_var, var, part);
    });
  return batch.y;
}

Tensor BatchNorm::with_axes(const Tensor& x, int axes) const {
  if (x.dim() != 2 + axes && (axes != 1 || x.dim() != 2))
    fail_near(weight, fmt::format("batch_norm{}d", axes),
              fmt::format("expected x {}[N, C, {}], got shape {}", axes == 1 ? "[N, C] or " : "",
                          kSpatialAxes[axes - 1], str(x.shape())));
  return (*this)(x);
}

GroupNorm::GroupNorm(int64_t num_groups, int64_t num_channels, double eps, bool affine, bool bias)
    : weight(filled("group_norm", affine, num_channels, 1)),
      bias(filled("group_norm", affine && bias, num_channels, 0)),
      num_groups(num_groups),
      num_channels(num_channels),
      eps(eps) {
  if (num_groups < 1 || num_channels % num_groups != 0) {  // as the operation says it, but at once
    fail("group_norm", "expected groups that divide the {} channels, got {}", num_channels, num_groups);
  }
}

Tensor GroupNorm::operator()(const Tensor& x) const {
  require_features(weight, "group_norm", x, num_channels);
  return group_norm(x, num_groups, weight, bias, eps);
}

InstanceNorm::InstanceNorm(int64_t num_features, const InstanceNormOptions& options)
    : ChannelNorm("instance_norm", num_features, options), momentum(options.momentum) {}

Tensor InstanceNorm::operator()(const Tensor& x) const {
  require_features(weight, "instance_norm", x, num_features);
  if (!training && running_mean.defined()) return batch_norm(x, running_mean, running_var, weight, bias, eps);
  const Tensor y = instance_norm(x, weight, bias, eps);
  if (training && running_mean.defined() && x.numel() > 0 && !tapegrad::detail::DrawLog::replaying()) {
    const BatchNormed samples = batch_norm_training(x.detach().reshape({1, x.size(0) * num_features, -1}));
    const auto over_batch = [&](const Tensor& of) { return mean(of.reshape({x.size(0), num_features}), 0); };
    update_running(this, over_batch(samples.mean), over_batch(samples.var), true,
                   [this](const Tensor& mean, const Tensor& var, bool) {
                     mix(running_mean, mean, momentum);
                     mix(running_var, var, momentum);
                   });
  }
  return y;
}

Tensor InstanceNorm::with_axes(const Tensor& x, int axes) const {
  if (x.dim() != 2 + axes && x.dim() != 1 + axes)
    fail_near(weight, fmt::format("instance_norm{}d", axes),
              fmt::format("expected x [N, C, {0}] or [C, {0}], got shape {1}", kSpatialAxes[axes - 1], str(x.shape())));
  return x.dim() == 2 + axes ? (*this)(x) : (*this)(x.unsqueeze(0)).squeeze(0);
}

}  // namespace tapegrad::nn
