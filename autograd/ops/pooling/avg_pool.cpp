// Averages over windows of images and signals.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/pooling/detail/resample.h>
#include <tapegrad/autograd/pooling.h>

namespace tapegrad {
namespace {

const Op kAvgPool1d{"avg_pool1d"};
const Op kAvgPool2d{"avg_pool2d"};
const Op kAdaptiveAvgPool1d{"adaptive_avg_pool1d"};
const Op kAdaptiveAvgPool2d{"adaptive_avg_pool2d"};

// Sums over windows, divided by divisor(window).
template <class Divisor>
AxisMap sums_of(const Windows& windows, DType dtype, Divisor divisor) {
  const auto at = [&](int64_t o) { return windows.windows[static_cast<std::size_t>(o)]; };
  AxisMap map = axis_map(
      windows.in, windows.out(), [&](int64_t o) { return at(o).first; }, [&](int64_t o) { return at(o).count; });
  bool divides = false;
  for (int64_t o = 0; o < windows.out(); ++o) divides = divides || divisor(at(o)) != 1;
  if (!divides) return map;
  map.divisors = Tensor::empty({windows.out()}, dtype);
  with_floating_type(dtype, [&](auto t) {
    using T = decltype(t);
    for (int64_t o = 0; o < windows.out(); ++o) map.divisors.mutable_data<T>()[o] = static_cast<T>(divisor(at(o)));
  });
  return map;
}

Tensor avg_pool(const Op& op, int axes, const Tensor& x, const PerAxis<int64_t>& kernel_size,
                const AvgPoolOptions& options) {
  const Planes planes(op, x, axes);
  const WindowPair windows = sliding_windows(op, x, planes,
                                             {.kernel = kernel_size,
                                              .stride = options.stride,
                                              .padding = options.padding,
                                              .dilation = 1,
                                              .ceil_mode = options.ceil_mode});
  if (options.divisor_override) {
    const int64_t divisor = *options.divisor_override;
    if (divisor == 0) op.fail("expected a divisor_override other than 0");
    return resample(op, x, planes, sums_of(windows.h, x.dtype(), [](auto) { return 1; }),
                    sums_of(windows.w, x.dtype(), [=](auto) { return divisor; }));
  }
  const auto size = [&](const Windows::Window& w) { return options.count_include_pad ? w.padded : w.count; };
  return resample(op, x, planes, sums_of(windows.h, x.dtype(), size), sums_of(windows.w, x.dtype(), size));
}

Tensor adaptive_avg_pool(const Op& op, int axes, const Tensor& x, const PerAxis<int64_t>& output_size) {
  const Planes planes(op, x, axes);
  const WindowPair windows = adaptive_windows(op, planes, output_size);
  if (windows.h.out() == 1 && windows.w.out() == 1) {
    return axes == 1 ? mean(x, -1, true) : mean(x, {-2, -1}, true);
  }
  const auto size = [](const Windows::Window& w) { return w.count; };
  return resample(op, x, planes, sums_of(windows.h, x.dtype(), size), sums_of(windows.w, x.dtype(), size));
}

}  // namespace

Tensor avg_pool1d(const Tensor& x, const PerAxis<int64_t>& kernel_size, const AvgPoolOptions& options) {
  return avg_pool(kAvgPool1d, 1, x, kernel_size, options);
}
Tensor avg_pool2d(const Tensor& x, const PerAxis<int64_t>& kernel_size, const AvgPoolOptions& options) {
  return avg_pool(kAvgPool2d, 2, x, kernel_size, options);
}

Tensor adaptive_avg_pool1d(const Tensor& x, const PerAxis<int64_t>& output_size) {
  return adaptive_avg_pool(kAdaptiveAvgPool1d, 1, x, output_size);
}
Tensor adaptive_avg_pool2d(const Tensor& x, const PerAxis<int64_t>& output_size) {
  return adaptive_avg_pool(kAdaptiveAvgPool2d, 2, x, output_size);
}

}  // namespace tapegrad
