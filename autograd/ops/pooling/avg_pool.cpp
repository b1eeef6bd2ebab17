// Averages over windows of signals, images and volumes.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/pooling/detail/resample.h>
#include <tapegrad/autograd/pooling.h>

namespace tapegrad {
namespace {

const Op kAvgPool1d{"avg_pool1d"};
const Op kAvgPool2d{"avg_pool2d"};
const Op kAvgPool3d{"avg_pool3d"};
const Op kAdaptiveAvgPool1d{"adaptive_avg_pool1d"};
const Op kAdaptiveAvgPool2d{"adaptive_avg_pool2d"};
const Op kAdaptiveAvgPool3d{"adaptive_avg_pool3d"};

// Sums over windows, divided by divisor(window).
AxisMap sums_of(const Windows& windows, DType dtype, auto divisor) {
  const auto at = [&](int64_t o) { return windows.windows[static_cast<std::size_t>(o)]; };
  AxisMap map = axis_map(
      windows.in, windows.out(), [&](int64_t o) { return at(o).first; }, [&](int64_t o) { return at(o).count; });
  bool divides = false;
  for (int64_t o = 0; o < windows.out(); ++o) divides = divides || divisor(at(o)) != 1;
  if (!divides) return map;
  map.divisors = Tensor::empty({windows.out()}, dtype);
  with_floating_type(dtype, [&]<class T>(T) {
    for (int64_t o = 0; o < windows.out(); ++o) map.divisors.mutable_data<T>()[o] = static_cast<T>(divisor(at(o)));
  });
  return map;
}

// The sums of all windows, each divided by the product of its divisors.
Tensor averages(const Op& op, const Tensor& x, const Planes& planes, const PoolWindows& windows, auto divisor) {
  return resample(op, x, planes,
                  {.d = sums_of(windows.d, x.dtype(), divisor),
                   .h = sums_of(windows.plane.h, x.dtype(), divisor),
                   .w = sums_of(windows.plane.w, x.dtype(), divisor)});
}

Tensor avg_pool(const Op& op, int axes, const Tensor& x, const PerAxis<int64_t>& kernel_size,
                const AvgPoolOptions& options) {
  const Planes planes(op, x, axes);
  const PoolWindows windows = sliding_windows(op, x, planes,
                                              {.kernel = kernel_size,
                                               .stride = options.stride,
                                               .padding = options.padding,
                                               .dilation = 1,
                                               .ceil_mode = options.ceil_mode});
  if (options.divisor_override) {
    const int64_t divisor = *options.divisor_override;
    if (divisor == 0) op.fail("expected a divisor_override other than 0");
    const auto one = [](const Windows::Window&) { return 1; };
    return resample(op, x, planes,
                    {.d = sums_of(windows.d, x.dtype(), one),
                     .h = sums_of(windows.plane.h, x.dtype(), one),
                     .w = sums_of(windows.plane.w, x.dtype(), [=](const Windows::Window&) { return divisor; })});
  }
  return averages(op, x, planes, windows,
                  [&](const Windows::Window& w) { return options.count_include_pad ? w.padded : w.count; });
}

Tensor adaptive_avg_pool(const Op& op, int axes, const Tensor& x, const PerAxis<int64_t>& output_size) {
  const Planes planes(op, x, axes);
  const PoolWindows windows = adaptive_windows(op, planes, output_size);
  if (windows.d.out() == 1 && windows.plane.h.out() == 1 && windows.plane.w.out() == 1) {
    return mean(x, axes == 1 ? Axes{-1} : axes == 2 ? Axes{-2, -1} : Axes{-3, -2, -1}, true);
  }
  return averages(op, x, planes, windows, [](const Windows::Window& w) { return w.count; });
}

}  // namespace

Tensor avg_pool1d(const Tensor& x, const PerAxis<int64_t>& kernel_size, const AvgPoolOptions& options) {
  return avg_pool(kAvgPool1d, 1, x, kernel_size, options);
}
Tensor avg_pool2d(const Tensor& x, const PerAxis<int64_t>& kernel_size, const AvgPoolOptions& options) {
  return avg_pool(kAvgPool2d, 2, x, kernel_size, options);
}
Tensor avg_pool3d(const Tensor& x, const PerAxis<int64_t>& kernel_size, const AvgPoolOptions& options) {
  return avg_pool(kAvgPool3d, 3, x, kernel_size, options);
}

Tensor adaptive_avg_pool1d(const Tensor& x, const PerAxis<int64_t>& output_size) {
  return adaptive_avg_pool(kAdaptiveAvgPool1d, 1, x, output_size);
}
Tensor adaptive_avg_pool2d(const Tensor& x, const PerAxis<int64_t>& output_size) {
  return adaptive_avg_pool(kAdaptiveAvgPool2d, 2, x, output_size);
}
Tensor adaptive_avg_pool3d(const Tensor& x, const PerAxis<int64_t>& output_size) {
  return adaptive_avg_pool(kAdaptiveAvgPool3d, 3, x, output_size);
}

}  // namespace tapegrad
