// Normalisation per channel as modules.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/draw_log.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/batch_norm.h>
#include <tapegrad/nn/detail/check.h>

namespace tapegrad::nn {

namespace {

Parameter filled(std::string_view where, bool wanted, int64_t channels, double value) {
  require_positive(where, "the number of channels", channels);
  return wanted ? Parameter(full({channels}, value)) : Parameter();
}

// Error unless x has one of the two ranks.
void require_rank(const Parameter& own, std::string_view where, const Tensor& x, int rank, int other,
                  std::string_view expected) {
  if (x.dim() != rank && x.dim() != other)
    fail_near(own, where, fmt::format("expected x {}, got shape {}", expected, str(x.shape())));
}

// running = (1 - part) * running + part * newest
void mix(Buffer& running, const Tensor& newest, double part) {
  running.set(running.tensor() * (1 - part) + newest.to(running->dtype()) * part);
}

// Error unless x is [N, C, ...].
void require_features(const Parameter& own, std::string_view where, const Tensor& x, int64_t num_features) {
  if (x.dim() < 2 || x.shape()[1] != num_features)
    fail_near(own, where, fmt::format("expected x [N, {}, ...], got shape {}", num_features, str(x.shape())));
}

}  // namespace

BatchNorm::BatchNorm(int64_t num_features, const BatchNormOptions& options)
    : weight(filled("batch_norm", options.affine, num_features, 1)),
      bias(filled("batch_norm", options.affine && options.bias, num_features, 0)),
      num_features(num_features),
      eps(options.eps),
      momentum(options.momentum) {
  if (!options.track_running_stats) return;
  running_mean = Buffer(zeros({num_features}));
  running_var = Buffer(ones({num_features}));
  num_batches_tracked = Buffer(zeros({}, kInt64));
}

Tensor BatchNorm::operator()(const Tensor& x) const {
  require_features(weight, "batch_norm", x, num_features);
  if (!training && running_mean.defined()) return batch_norm(x, running_mean, running_var, weight, bias, eps);
  const BatchNormed batch = batch_norm_training(x, weight, bias, eps);
  if (training && running_mean.defined() && !tapegrad::detail::DrawLog::replaying()) {
    num_batches_tracked.set(num_batches_tracked.tensor() + 1);
    const double part = momentum ? *momentum : 1 / num_batches_tracked->item();
    if (x.numel() > 0) {
      mix(running_mean, batch.mean, part);
      mix(running_var, batch.var, part);
    }
  }
  return batch.y;
}

Tensor BatchNorm1d::operator()(const Tensor& x) const {
  require_rank(weight, "batch_norm1d", x, 2, 3, "[N, C] or [N, C, L]");
  return BatchNorm::operator()(x);
}

Tensor BatchNorm2d::operator()(const Tensor& x) const {
  require_rank(weight, "batch_norm2d", x, 4, 4, "[N, C, H, W]");
  return BatchNorm::operator()(x);
}

Tensor BatchNorm3d::operator()(const Tensor& x) const {
  require_rank(weight, "batch_norm3d", x, 5, 5, "[N, C, D, H, W]");
  return BatchNorm::operator()(x);
}

GroupNorm::GroupNorm(int64_t num_groups, int64_t num_channels, double eps, bool affine, bool bias)
    : weight(filled("group_norm", affine, num_channels, 1)),
      bias(filled("group_norm", affine && bias, num_channels, 0)),
      num_groups(num_groups),
      num_channels(num_channels),
      eps(eps) {
  if (num_groups < 1 || num_channels % num_groups != 0) {  // as the operation says it, but at once
    fail("group_norm", fmt::format("expected groups that divide the {} channels, got {}", num_channels, num_groups));
  }
}

Tensor GroupNorm::operator()(const Tensor& x) const {
  require_features(weight, "group_norm", x, num_channels);
  return group_norm(x, num_groups, weight, bias, eps);
}

InstanceNorm::InstanceNorm(int64_t num_features, const InstanceNormOptions& options)
    : weight(filled("instance_norm", options.affine, num_features, 1)),
      bias(filled("instance_norm", options.affine && options.bias, num_features, 0)),
      num_features(num_features),
      eps(options.eps),
      momentum(options.momentum) {
  if (!options.track_running_stats) return;
  running_mean = Buffer(zeros({num_features}));
  running_var = Buffer(ones({num_features}));
  num_batches_tracked = Buffer(zeros({}, kInt64));
}

Tensor InstanceNorm::operator()(const Tensor& x) const {
  require_features(weight, "instance_norm", x, num_features);
  if (!training && running_mean.defined()) return batch_norm(x, running_mean, running_var, weight, bias, eps);
  const Tensor y = instance_norm(x, weight, bias, eps);
  const bool updates = training && running_mean.defined() && x.numel() > 0;
  if (updates && !tapegrad::detail::DrawLog::replaying()) {
    const BatchNormed samples = batch_norm_training(x.detach().reshape({1, x.size(0) * num_features, -1}));
    const auto over_batch = [&](const Tensor& of) { return mean(of.reshape({x.size(0), num_features}), 0); };
    mix(running_mean, over_batch(samples.mean), momentum);
    mix(running_var, over_batch(samples.var), momentum);
  }
  return y;
}

Tensor InstanceNorm1d::operator()(const Tensor& x) const {
  require_rank(weight, "instance_norm1d", x, 3, 2, "[N, C, L] or [C, L]");
  return x.dim() == 3 ? InstanceNorm::operator()(x) : InstanceNorm::operator()(x.unsqueeze(0)).squeeze(0);
}

Tensor InstanceNorm2d::operator()(const Tensor& x) const {
  require_rank(weight, "instance_norm2d", x, 4, 3, "[N, C, H, W] or [C, H, W]");
  return x.dim() == 4 ? InstanceNorm::operator()(x) : InstanceNorm::operator()(x.unsqueeze(0)).squeeze(0);
}

Tensor InstanceNorm3d::operator()(const Tensor& x) const {
  require_rank(weight, "instance_norm3d", x, 5, 4, "[N, C, D, H, W] or [C, D, H, W]");
  return x.dim() == 5 ? InstanceNorm::operator()(x) : InstanceNorm::operator()(x.unsqueeze(0)).squeeze(0);
}

}  // namespace tapegrad::nn
