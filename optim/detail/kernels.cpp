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
void adam(int64_t n, T* p, T* m, T* v, const T* g, const optim::AdamStep& s) {
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
void sgd(int64_t n, T* p, T* buffer, const T* g, const optim::SgdStep& s) {
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

void adam_float(int64_t n, float* p, float* m, float* v, const float* g, const optim::AdamStep& s) {
  adam(n, p, m, v, g, s);
}
void adam_double(int64_t n, double* p, double* m, double* v, const double* g, const optim::AdamStep& s) {
  adam(n, p, m, v, g, s);
}
void sgd_float(int64_t n, float* p, float* buffer, const float* g, const optim::SgdStep& s) { sgd(n, p, buffer, g, s); }
void sgd_double(int64_t n, double* p, double* buffer, const double* g, const optim::SgdStep& s) {
  sgd(n, p, buffer, g, s);
}
double squares_float(int64_t n, const float* x) { return squares(n, x); }
double squares_double(int64_t n, const double* x) { return squares(n, x); }
void scale_float(int64_t n, float* x, double factor) {
  const Vec<float> f(static_cast<float>(factor));
  map_row(
      n, x, [f](Vec<float> v) { return v * f; }, x);
}
void scale_double(int64_t n, double* x, double factor) {
  const Vec<double> f(factor);
  map_row(
      n, x, [f](Vec<double> v) { return v * f; }, x);
}
void cut_float(int64_t n, float* x, double limit) {
  const Vec<float> high(static_cast<float>(limit));
  map_row(
      n, x, [high](Vec<float> v) { return maximum(minimum(v, high), -high); }, x);
}
void cut_double(int64_t n, double* x, double limit) {
  const Vec<double> high(limit);
  map_row(
      n, x, [high](Vec<double> v) { return maximum(minimum(v, high), -high); }, x);
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {

HWY_EXPORT(adam_float);
HWY_EXPORT(adam_double);
HWY_EXPORT(sgd_float);
HWY_EXPORT(sgd_double);
HWY_EXPORT(squares_float);
HWY_EXPORT(squares_double);
HWY_EXPORT(scale_float);
HWY_EXPORT(scale_double);
HWY_EXPORT(cut_float);
HWY_EXPORT(cut_double);

namespace optim {

void adam_update(int64_t n, float* p, float* m, float* v, const float* g, const AdamStep& step) {
  kernel_of(HWY_DISPATCH_TABLE(adam_float))(n, p, m, v, g, step);
}
void adam_update(int64_t n, double* p, double* m, double* v, const double* g, const AdamStep& step) {
  kernel_of(HWY_DISPATCH_TABLE(adam_double))(n, p, m, v, g, step);
}
void sgd_update(int64_t n, float* p, float* buffer, const float* g, const SgdStep& step) {
  kernel_of(HWY_DISPATCH_TABLE(sgd_float))(n, p, buffer, g, step);
}
void sgd_update(int64_t n, double* p, double* buffer, const double* g, const SgdStep& step) {
  kernel_of(HWY_DISPATCH_TABLE(sgd_double))(n, p, buffer, g, step);
}
double sum_of_squares(int64_t n, const float* x) { return kernel_of(HWY_DISPATCH_TABLE(squares_float))(n, x); }
double sum_of_squares(int64_t n, const double* x) { return kernel_of(HWY_DISPATCH_TABLE(squares_double))(n, x); }
void scale(int64_t n, float* x, double factor) { kernel_of(HWY_DISPATCH_TABLE(scale_float))(n, x, factor); }
void scale(int64_t n, double* x, double factor) { kernel_of(HWY_DISPATCH_TABLE(scale_double))(n, x, factor); }
void cut(int64_t n, float* x, double limit) { kernel_of(HWY_DISPATCH_TABLE(cut_float))(n, x, limit); }
void cut(int64_t n, double* x, double limit) { kernel_of(HWY_DISPATCH_TABLE(cut_double))(n, x, limit); }

}  // namespace optim
}  // namespace tapegrad
#endif  // HWY_ONCE
