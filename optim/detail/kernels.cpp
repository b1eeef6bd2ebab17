// The inner loops of the optimisers, in PyTorch's order of operations and with its fused multiply-adds.
#include <tapegrad/autograd/kernels/simd_targets.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/optim/detail/kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <tapegrad/autograd/kernels/simd.h>
#include <tapegrad/optim/detail/kernels.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

template <class T>
void adam(const optim::AdamStep& s, int64_t begin, int64_t n) {
  T *const p = static_cast<T*>(s.p) + begin, *const m = static_cast<T*>(s.m) + begin;
  T* const v = static_cast<T*>(s.v) + begin;
  const T* const g = static_cast<const T*>(s.g) + begin;
  const Vec<T> beta1(static_cast<T>(s.beta1)), rest1(static_cast<T>(1 - s.beta1));
  const Vec<T> beta2(static_cast<T>(s.beta2)), rest2(static_cast<T>(1 - s.beta2));
  const Vec<T> eps(static_cast<T>(s.eps)), root(static_cast<T>(s.bias2_sqrt)), rate(static_cast<T>(-s.step_size));
  const Vec<T> l2(static_cast<T>(s.l2)), shrink(static_cast<T>(s.shrink));
  const bool has_l2 = s.l2 != 0;
  const auto update = [&](Vec<T>& p, Vec<T>& m, Vec<T>& v, Vec<T> g) {
    if (has_l2) g = fma(p, l2, g);
    m = fma(g, rest1, m * beta1);
    v = v * beta2 + rest2 * g * g;
    p = p * shrink + rate * m / (sqrt(v) / root + eps);
  };
  constexpr int64_t kStep = kLanes<T>;
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    Vec<T> pi = load(p + i), mi = load(m + i), vi = load(v + i);
    update(pi, mi, vi, load(g + i));
    store(pi, p + i);
    store(mi, m + i);
    store(vi, v + i);
  }
  if (i < n) {
    const int64_t rest = n - i;
    Vec<T> pi = load(p + i, rest), mi = load(m + i, rest), vi = load(v + i, rest);
    update(pi, mi, vi, load(g + i, rest));
    store(pi, p + i, rest);
    store(mi, m + i, rest);
    store(vi, v + i, rest);
  }
}

template <class T>
void sgd(const optim::SgdStep& s, int64_t begin, int64_t n) {
  T *const p = static_cast<T*>(s.p) + begin, *const buffer = s.buffer ? static_cast<T*>(s.buffer) + begin : nullptr;
  const T* const g = static_cast<const T*>(s.g) + begin;
  const Vec<T> rate(static_cast<T>(-s.lr)), l2(static_cast<T>(s.l2));
  const Vec<T> momentum(static_cast<T>(s.momentum)), fresh(static_cast<T>(1 - s.dampening));
  const bool has_l2 = s.l2 != 0;
  const auto piece = [&](int64_t i, auto... count) {
    const Vec<T> pi = load(p + i, count...);
    Vec<T> gi = load(g + i, count...);
    if (has_l2) gi = fma(pi, l2, gi);
    if (buffer) {
      const Vec<T> bi = s.first ? gi : fma(gi, fresh, load(buffer + i, count...) * momentum);
      store(bi, buffer + i, count...);
      gi = s.nesterov ? fma(bi, momentum, gi) : bi;
    }
    store(fma(gi, rate, pi), p + i, count...);
  };
  constexpr int64_t kStep = kLanes<T>;
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) piece(i);
  if (i < n) piece(i, n - i);
}

// Eight sums in double, whatever the width: lane j takes x[j], x[j + 8], ...
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

void adam_kernel(const optim::AdamStep& s, int64_t begin, int64_t end) {
  with_floating_type(s.dtype, [&](auto t) { adam<decltype(t)>(s, begin, end - begin); });
}
void sgd_kernel(const optim::SgdStep& s, int64_t begin, int64_t end) {
  with_floating_type(s.dtype, [&](auto t) { sgd<decltype(t)>(s, begin, end - begin); });
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

HWY_EXPORT(adam_kernel);
HWY_EXPORT(sgd_kernel);
HWY_EXPORT(squares_kernel);
HWY_EXPORT(scale_kernel);
HWY_EXPORT(clamp_kernel);

namespace optim {

void adam_update(const AdamStep& step, int64_t begin, int64_t end) {
  kernel_of(HWY_DISPATCH_TABLE(adam_kernel))(step, begin, end);
}

void sgd_update(const SgdStep& step, int64_t begin, int64_t end) {
  kernel_of(HWY_DISPATCH_TABLE(sgd_kernel))(step, begin, end);
}

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
