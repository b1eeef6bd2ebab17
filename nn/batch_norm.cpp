// Normalisation per channel as modules.
#include <fmt/format.h>
#include <tapegrad/autograd/detail/draw_log.h>
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
void require_rank(std::string_view where, const Tensor& x, int rank, int other, std::string_view expected) {
  if (x.dim() != rank && x.dim() != other)
    fail(where, fmt::format("expected x {}, got shape {}", expected, str(x.shape())));
}

// running = (1 - part) * running + part * newest
void mix(Buffer& running, const Tensor& newest, double part) {
  running.set(running.tensor() * (1 - part) + newest.to(running->dtype()) * part);
}

// x with a batch has this rank, one sample one axis less.
Tensor normalise(std::string_view where, const InstanceNorm& norm, const Tensor& x, int rank,
                 std::string_view expected) {
  require_rank(where, x, rank, rank - 1, expected);
  if (x.dim() == rank) return instance_norm(x, norm.weight, norm.bias, norm.eps);
  return instance_norm(x.unsqueeze(0), norm.weight, norm.bias, norm.eps).squeeze(0);
}

}  // namespace

BatchNorm::BatchNorm(int64_t num_features, const BatchNormOptions& options)
    : weight(filled("batch_norm", options.affine, num_features, 1)),
      bias(filled("batch_norm", options.affine, num_features, 0)),
      num_features(num_features),
      eps(options.eps),
      momentum(options.momentum) {
  if (!options.track_running_stats) return;
  running_mean = Buffer(zeros({num_features}));
  running_var = Buffer(ones({num_features}));
  num_batches_tracked = Buffer(zeros({}, kInt64));
}

Tensor BatchNorm::operator()(const Tensor& x) const {
  if (x.dim() < 2 || x.shape()[1] != num_features) {
    fail("batch_norm", fmt::format("expected x [N, {}, ...], got shape {}", num_features, str(x.shape())));
  }
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
  require_rank("batch_norm1d", x, 2, 3, "[N, C] or [N, C, L]");
  return BatchNorm::operator()(x);
}

Tensor BatchNorm2d::operator()(const Tensor& x) const {
  require_rank("batch_norm2d", x, 4, 4, "[N, C, H, W]");
  return BatchNorm::operator()(x);
}

GroupNorm::GroupNorm(int64_t num_groups, int64_t num_channels, double eps, bool affine)
    : weight(filled("group_norm", affine, num_channels, 1)),
      bias(filled("group_norm", affine, num_channels, 0)),
      num_groups(num_groups),
      eps(eps) {
  require_positive("group_norm", "num_groups", num_groups);
  if (num_channels % num_groups != 0) {
    fail("group_norm", fmt::format("expected num_groups to divide the {} channels, got {}", num_channels, num_groups));
  }
}
Tensor GroupNorm::operator()(const Tensor& x) const { return group_norm(x, num_groups, weight, bias, eps); }

InstanceNorm::InstanceNorm(int64_t num_features, double eps, bool affine)
    : weight(filled("instance_norm", affine, num_features, 1)),
      bias(filled("instance_norm", affine, num_features, 0)),
      eps(eps) {}

Tensor InstanceNorm1d::operator()(const Tensor& x) const {
  return normalise("instance_norm1d", *this, x, 3, "[N, C, L] or [C, L]");
}

Tensor InstanceNorm2d::operator()(const Tensor& x) const {
  return normalise("instance_norm2d", *this, x, 4, "[N, C, H, W] or [C, H, W]");
}

}  // namespace tapegrad::nn
