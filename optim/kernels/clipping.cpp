// The loops of clipping.
// build: -O3
#define HWY_TARGET_INCLUDE "tapegrad/optim/kernels/clipping.cpp"
#include <tapegrad/optim/internal/clipping.h>
#include <tapegrad/optim/kernels/update-inl.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// Eight sums in double for any vector width: lane j takes x[j], x[j + 8], ...
template <class T>
double squares(int64_t n, const T* x) {
  double sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int j = 0; j < 8; ++j) sums[j] += static_cast<double>(x[i + j]) * static_cast<double>(x[i + j]);
  }
  for (int j = 0; i < n; ++i, ++j) sums[j] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

void squares_kernel(DType dtype, const void* x, int64_t begin, int64_t end, double& sum) {
  with_floating_type(dtype, [&](auto t) { sum = squares(end - begin, static_cast<const decltype(t)*>(x) + begin); });
}
template <class T>
void scale_row(int64_t n, T* x, double factor) {
  const Vec<T> f(static_cast<T>(factor));
  map_row(
      n, x, [f](Vec<T> v) { return v * f; }, x);
}
void scale_kernel(DType dtype, void* x, double factor, int64_t begin, int64_t end) {
  with_floating_type(dtype, [&](auto t) { scale_row(end - begin, static_cast<decltype(t)*>(x) + begin, factor); });
}
template <class T>
void clamp_row(int64_t n, T* x, double limit) {
  const Vec<T> high(static_cast<T>(limit));
  map_row(
      n, x, [high](Vec<T> v) { return maximum(minimum(v, high), -high); }, x);
}
void clamp_kernel(DType dtype, void* x, double limit, int64_t begin, int64_t end) {
  with_floating_type(dtype, [&](auto t) { clamp_row(end - begin, static_cast<decltype(t)*>(x) + begin, limit); });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {

HWY_EXPORT(squares_kernel);
HWY_EXPORT(scale_kernel);
HWY_EXPORT(clamp_kernel);

namespace optim {

double sum_of_squares(DType dtype, const void* x, int64_t begin, int64_t end) {
  double sum = 0;
  kernel_of(HWY_DISPATCH_TABLE(squares_kernel))(dtype, x, begin, end, sum);
  return sum;
}

void scale(DType dtype, void* x, double factor, int64_t begin, int64_t end) {
  kernel_of(HWY_DISPATCH_TABLE(scale_kernel))(dtype, x, factor, begin, end);
}

void clamp(DType dtype, void* x, double limit, int64_t begin, int64_t end) {
  kernel_of(HWY_DISPATCH_TABLE(clamp_kernel))(dtype, x, limit, begin, end);
}

}  // namespace optim
}  // namespace tapegrad
#endif  // HWY_ONCE
