// group_norm and instance_norm: the kernels, forward and backward.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/norm/group_norm.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/by_example.h>
#include <tapegrad/autograd/ops/detail/moments-inl.h>
#include <tapegrad/autograd/ops/detail/reduce.h>
#include <tapegrad/autograd/ops/norm/detail/channel_norm.h>

#ifndef TAPEGRAD_GROUP_NORM_ARGS
#define TAPEGRAD_GROUP_NORM_ARGS
namespace tapegrad {

// A row is one group of one sample: `channels` channels with l elements each.
struct GroupNormArgs {
  DType dtype;
  int64_t groups, channels, l;
  double eps;
  const void* x;
  const void* weight;  // or nullptr, as bias
  const void* bias;
  void* y;
  void* mean;   // of each row, as scale
  void* scale;  // 1 / sqrt(var + eps)
};

struct GroupNormBackwardArgs {
  DType dtype;
  int64_t groups, channels, l;
  const void* x;
  const void* weight;
  const void* mean;
  const void* scale;
  const void* dy;
  void* dx;       // or nullptr
  void* dweight;  // of each sample, or nullptr, as dbias
  void* dbias;
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

void group_norm_rows(const GroupNormArgs& args, int64_t begin, int64_t end) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    const int64_t channels = args.channels, l = args.l, n = channels * l;
    for (int64_t row = begin; row < end; ++row) {
      const T* const x = static_cast<const T*>(args.x) + row * n;
      T* const y = static_cast<T*>(args.y) + row * n;
      const int64_t first = row % args.groups * channels;
      const T* const weight = args.weight ? static_cast<const T*>(args.weight) + first : nullptr;
      const T* const bias = args.bias ? static_cast<const T*>(args.bias) + first : nullptr;
      const Moments moments = moments_of(x, 1, 0, n);
      T mean_of_row = static_cast<T>(moments.mean());
      T scale = static_cast<T>(1 / std::sqrt(moments.variance() + args.eps));
      if (WideMoments wide; !std::isfinite(moments.squares) && wide.measure(n, true, [x](int64_t i) { return x[i]; })) {
        mean_of_row = static_cast<T>(wide.mean);
        scale = static_cast<T>(1 / square_root(wide.variance + args.eps));
      }
      static_cast<T*>(args.mean)[row] = mean_of_row;
      static_cast<T*>(args.scale)[row] = scale;
      const Vec<T> mean = mean_of_row;
      if (l == 1) {
        each_span<T>(channels, [&](auto s) {
          const Vec<T> factor = weight ? s.load(weight) * scale : Vec<T>(scale);
          s.store(fma(s.load(x) - mean, factor, bias ? s.load(bias) : Vec<T>()), y);
        });
        continue;
      }
      for (int64_t c = 0; c < channels; ++c) {
        const Vec<T> factor = weight ? scale * weight[c] : scale, shift = bias ? bias[c] : T{0};
        each_span<T>(
            l, [&, from = x + c * l, to = y + c * l](auto s) { s.store(fma(s.load(from) - mean, factor, shift), to); });
      }
    }
  });
}

// The same for a row of large numbers. Plain loops.
template <class T>
void group_norm_backward_wide_row(const GroupNormBackwardArgs& args, int64_t row, const T* x, const T* dy,
                                  const T* weight, T mean, T scale) {
  const int64_t channels = args.channels, l = args.l, n = channels * l;
  GradientSums sums;
  for (int64_t c = 0; c < channels; ++c) {
    GradientSums of;
    for (int64_t i = c * l; i < (c + 1) * l; ++i) {
      of.add({static_cast<double>(dy[i]),
              static_cast<double>(dy[i]) * (static_cast<double>(x[i]) - static_cast<double>(mean))});
    }
    const double w = weight ? static_cast<double>(weight[c]) : 1;
    sums.add({of.dy * w, of.dy_x * w});
    if (args.dweight)
      static_cast<T*>(args.dweight)[row * channels + c] = static_cast<T>(of.dy_x * static_cast<double>(scale));
    if (args.dbias) static_cast<T*>(args.dbias)[row * channels + c] = static_cast<T>(of.dy);
  }
  for (int64_t i = 0; i < n && args.dx; ++i) {
    const T g = weight ? dy[i] * weight[i / l] : dy[i];
    static_cast<T*>(args.dx)[row * n + i] = wide_gradient(g, x[i], mean, scale, sums, static_cast<double>(n));
  }
}

// With g = dy * weight: dx = scale * (g - mean(g) - (x - mean) * scale^2 * mean(g * (x - mean))).
void group_norm_backward_rows(const GroupNormBackwardArgs& args, int64_t begin, int64_t end) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    const int64_t channels = args.channels, l = args.l, n = channels * l;
    for (int64_t row = begin; row < end; ++row) {
      const T* const x = static_cast<const T*>(args.x) + row * n;
      const T* const dy = static_cast<const T*>(args.dy) + row * n;
      const T* const weight = args.weight ? static_cast<const T*>(args.weight) + row % args.groups * channels : nullptr;
      T* const dweight = args.dweight ? static_cast<T*>(args.dweight) + row * channels : nullptr;
      T* const dbias = args.dbias ? static_cast<T*>(args.dbias) + row * channels : nullptr;
      const T mean_of_row = static_cast<const T*>(args.mean)[row],
              scale_of_row = static_cast<const T*>(args.scale)[row];
      if (is_wide(scale_of_row)) {
        group_norm_backward_wide_row(args, row, x, dy, weight, mean_of_row, scale_of_row);
        continue;
      }
      const Vec<T> mean = mean_of_row, scale = scale_of_row;
      GradientSums sums;  // of g
      if (l == 1) {
        const auto [of_g, of_g_x] = reduce_sum(sum_spans<T>(channels, [&](auto s) {
          const Vec<T> g = weight ? s.load(dy) * s.load(weight) : s.load(dy);
          return TwoSums<T>{g, g * (s.load(x) - mean)};
        }));
        sums = {static_cast<double>(of_g), static_cast<double>(of_g_x)};
        each_span<T>(channels, [&](auto s) {
          if (dweight) s.store(s.load(dy) * (s.load(x) - mean) * scale, dweight);
          if (dbias) s.store(s.load(dy), dbias);
        });
      } else {
        for (int64_t c = 0; c < channels; ++c) {
          const GradientSums of = gradient_sums_of(x + c * l, dy + c * l, mean_of_row, 1, 0, l);
          const double w = weight ? static_cast<double>(weight[c]) : 1;
          sums.add({of.dy * w, of.dy_x * w});
          if (dweight) dweight[c] = static_cast<T>(of.dy_x * static_cast<double>(scale_of_row));
          if (dbias) dbias[c] = static_cast<T>(of.dy);
        }
      }
      if (!args.dx) continue;
      T* const dx = static_cast<T*>(args.dx) + row * n;
      const double factor = static_cast<double>(scale_of_row), count = static_cast<double>(n);
      const Vec<T> pull = static_cast<T>(factor * factor * factor * sums.dy_x / count);
      const Vec<T> shift = static_cast<T>(factor * sums.dy / count);
      if (l == 1) {
        each_span<T>(channels, [&](auto s) {
          const Vec<T> g = weight ? s.load(dy) * s.load(weight) : s.load(dy);
          s.store(fma(g, scale, -fma(s.load(x) - mean, pull, shift)), dx);
        });
        continue;
      }
      for (int64_t c = 0; c < channels; ++c) {
        const Vec<T> w = weight ? scale_of_row * weight[c] : scale_of_row;
        each_span<T>(l, [&, from = x + c * l, by = dy + c * l, to = dx + c * l](auto s) {
          s.store(fma(s.load(by), w, -fma(s.load(from) - mean, pull, shift)), to);
        });
      }
    }
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {

HWY_EXPORT(group_norm_rows);
HWY_EXPORT(group_norm_backward_rows);

namespace {

const Op kGroupNorm{"group_norm", {.rows = RowRule::first}};
const Op kInstanceNorm{"instance_norm", {.rows = RowRule::first}};

struct Rows {
  Tensor mean, scale;
};

// dweight and dbias are computed per sample, then added: all of them, or those of each of `examples` if that is not 0.
Grads fused_backward(const Channels& size, int64_t groups, const Tensor& x, const Tensor& weight, const Rows& kept,
                     const WantedGrads& wants, const Tensor& given_dy, int64_t examples) {
  const Tensor dy = packed(given_dy);
  const DType dtype = x.dtype();
  const Tensor dx = wants.x ? Tensor::empty(x.shape(), dtype) : Tensor();
  const auto of_samples = [&](bool wanted) { return wanted ? Tensor::empty({size.n, size.c}, dtype) : Tensor(); };
  const Tensor dweights = of_samples(wants.weight), dbiases = of_samples(wants.bias);
  if (x.numel() > 0) {
    const int64_t channels = size.c / groups;
    run_rows(kernel_of(HWY_DISPATCH_TABLE(group_norm_backward_rows)),
             {.dtype = dtype,
              .groups = groups,
              .channels = channels,
              .l = size.l,
              .x = x.raw_data(),
              .weight = data_or_null(weight),
              .mean = kept.mean.raw_data(),
              .scale = kept.scale.raw_data(),
              .dy = dy.raw_data(),
              .dx = mutable_data_or_null(dx),
              .dweight = mutable_data_or_null(dweights),
              .dbias = mutable_data_or_null(dbiases)},
             size.n * groups, channels * size.l);
  }
  const auto total = [&](const Tensor& parts) {
    if (!parts.defined()) return Tensor();
    if (x.numel() == 0) return zeros(examples > 0 ? Shape{examples, size.c} : Shape{size.c}, dtype);
    if (examples > 0) return sum_of_rows(parts.reshape({examples, size.n / examples, size.c}));
    const Tensor y = Tensor::empty({size.c}, dtype);
    reduce(ReduceKind::sum, {parts, 1, size.n, size.c}, y);
    return y;
  };
  return {dx, total(dweights), total(dbiases)};
}

Tensor normalise(const Op& op, const Tensor& given_x, const Channels& size, int64_t groups, const Tensor& given_weight,
                 const Tensor& given_bias, double eps) {
  const Tensor x = given_x.contiguous(), y = Tensor::empty(x.shape(), x.dtype());
  const Tensor weight = contiguous_or_empty(given_weight), bias = contiguous_or_empty(given_bias);
  const Rows kept{Tensor::empty({size.n, groups}, x.dtype()), Tensor::empty({size.n, groups}, x.dtype())};
  const int64_t channels = size.c / groups;
  if (x.numel() > 0) {
    run_rows(kernel_of(HWY_DISPATCH_TABLE(group_norm_rows)),
             {.dtype = x.dtype(),
              .groups = groups,
              .channels = channels,
              .l = size.l,
              .eps = eps,
              .x = x.raw_data(),
              .weight = data_or_null(weight),
              .bias = data_or_null(bias),
              .y = y.mutable_raw_data(),
              .mean = kept.mean.mutable_raw_data(),
              .scale = kept.scale.mutable_raw_data()},
             size.n * groups, channels * size.l);
  }
  const WantedGrads wants(x, weight, bias);
  if (!wants.any()) return y;
  return record(op, y, {x, weight, bias}, [=](const Tensor& dy, const BackwardPass& pass) -> Grads {
    const int64_t examples = pass.examples > 0 && size.n % pass.examples == 0 ? pass.examples : 0;
    if (!Tape::current()) return fused_backward(size, groups, x, weight, kept, wants, dy, examples);
    const Axes axes{2, 3};
    return composed_norm_backward(x, weight, {size.n, groups, channels, size.l}, axes, eps, {}, dy);
  });
}

}  // namespace

Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias, double eps) {
  const Channels size(kGroupNorm, x, weight, bias);
  require(groups >= 1 && size.c % groups == 0, kGroupNorm, "expected groups that divide the {} channels, got {}",
          size.c, groups);
  require(size.n * size.c * size.l != groups, kGroupNorm,
          "expected more than one element per group, got shape {} in {} groups", x.shape(), groups);
  return normalise(kGroupNorm, x, size, groups, weight, bias, eps);
}

Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const Channels size(kInstanceNorm, x, weight, bias);
  if (x.dim() < 3) fail(kInstanceNorm, "expected x [N, C, L, ...], got shape {}", x.shape());
  require(size.l != 1, kInstanceNorm, "expected more than one element per channel, got shape {}", x.shape());
  return normalise(kInstanceNorm, x, size, std::max<int64_t>(size.c, 1), weight, bias, eps);
}

}  // namespace tapegrad
#endif  // HWY_ONCE
