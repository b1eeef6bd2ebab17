// The inner loops of the optimisers, in PyTorch's order of operations and with its fused multiply-adds.
// build: -O3
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/optim/kernels/updates.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <tapegrad/autograd/kernels/simd/simd.h>
#include <tapegrad/optim/kernels/updates.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// piece(i), for whole vectors from element i on, and piece(i, count) for the rest.
template <class T, class Piece>
HWY_INLINE void each_piece(int64_t n, const Piece& piece) {
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) piece(i);
  if (i < n) piece(i, n - i);
}

// The elements of a tensor from `begin` on; nullptr stays.
template <class T>
T* from(void* x, int64_t begin) {
  return x ? static_cast<T*>(x) + begin : nullptr;
}
template <class T>
const T* from(const void* x, int64_t begin) {
  return static_cast<const T*>(x) + begin;
}

template <class T>
void adam(const optim::AdamStep& s, int64_t begin, int64_t n) {
  T *const p = from<T>(s.p, begin), *const m = from<T>(s.m, begin), *const v = from<T>(s.v, begin);
  T* const v_max = from<T>(s.v_max, begin);
  const T* const g = from<T>(s.g, begin);
  const Vec<T> beta1(static_cast<T>(s.beta1)), rest1(static_cast<T>(1 - s.beta1));
  const Vec<T> beta2(static_cast<T>(s.beta2)), rest2(static_cast<T>(1 - s.beta2));
  const Vec<T> eps(static_cast<T>(s.eps)), root(static_cast<T>(s.bias2_sqrt)), rate(static_cast<T>(-s.step_size));
  const Vec<T> l2(static_cast<T>(s.l2)), shrink(static_cast<T>(s.shrink));
  const bool has_l2 = s.l2 != 0;
  each_piece<T>(n, [&](int64_t i, auto... count) {
    const Vec<T> pi = load(p + i, count...);
    Vec<T> gi = load(g + i, count...);
    if (has_l2) gi = fma(pi, l2, gi);
    const Vec<T> mi = fma(gi, rest1, load(m + i, count...) * beta1);
    Vec<T> vi = load(v + i, count...) * beta2 + rest2 * gi * gi;
    store(mi, m + i, count...);
    store(vi, v + i, count...);
    if (v_max) {
      vi = maximum(load(v_max + i, count...), vi);
      store(vi, v_max + i, count...);
    }
    store(pi * shrink + rate * mi / (sqrt(vi) / root + eps), p + i, count...);
  });
}

template <class T>
void sgd(const optim::SgdStep& s, int64_t begin, int64_t n) {
  T *const p = from<T>(s.p, begin), *const buffer = from<T>(s.buffer, begin);
  const T* const g = from<T>(s.g, begin);
  const Vec<T> rate(static_cast<T>(-s.lr)), l2(static_cast<T>(s.l2));
  const Vec<T> momentum(static_cast<T>(s.momentum)), fresh(static_cast<T>(1 - s.dampening));
  const bool has_l2 = s.l2 != 0;
  each_piece<T>(n, [&](int64_t i, auto... count) {
    const Vec<T> pi = load(p + i, count...);
    Vec<T> gi = load(g + i, count...);
    if (has_l2) gi = fma(pi, l2, gi);
    if (buffer) {
      const Vec<T> bi = s.first ? gi : fma(gi, fresh, load(buffer + i, count...) * momentum);
      store(bi, buffer + i, count...);
      gi = s.nesterov ? fma(bi, momentum, gi) : bi;
    }
    store(fma(gi, rate, pi), p + i, count...);
  });
}

template <class T>
void adaptive(const optim::AdaptiveStep& s, int64_t begin, int64_t n) {
  T *const p = from<T>(s.p, begin), *const m = from<T>(s.m, begin), *const v = from<T>(s.v, begin);
  const T* const g = from<T>(s.g, begin);
  const Vec<T> beta1(static_cast<T>(s.beta1)), rest1(static_cast<T>(1 - s.beta1));
  const Vec<T> beta2(static_cast<T>(s.beta2)), rest2(static_cast<T>(1 - s.beta2));
  const Vec<T> eps(static_cast<T>(s.eps)), bias2(static_cast<T>(s.bias2)), l2(static_cast<T>(s.l2));
  const Vec<T> grad_rate(static_cast<T>(s.grad_rate)), m_rate(static_cast<T>(s.m_rate));
  each_piece<T>(n, [&](int64_t i, auto... count) {
    const Vec<T> pi = load(p + i, count...);
    const Vec<T> gi = fma(pi, l2, load(g + i, count...));
    const Vec<T> mi = fma(gi, rest1, load(m + i, count...) * beta1);
    const Vec<T> vi = load(v + i, count...) * beta2 + rest2 * gi * gi;
    store(mi, m + i, count...);
    store(vi, v + i, count...);
    const Vec<T> direction = grad_rate * gi + m_rate * mi;
    store(pi - (s.adaptive ? direction / (sqrt(vi / bias2) + eps) : direction), p + i, count...);
  });
}

template <class T>
void rmsprop(const optim::RmsPropStep& s, int64_t begin, int64_t n) {
  T *const p = from<T>(s.p, begin), *const v = from<T>(s.v, begin);
  T *const mean = from<T>(s.mean, begin), *const momentum = from<T>(s.momentum, begin);
  const T* const g = from<T>(s.g, begin);
  const Vec<T> alpha(static_cast<T>(s.alpha)), rest(static_cast<T>(1 - s.alpha)), eps(static_cast<T>(s.eps));
  const Vec<T> lr(static_cast<T>(s.lr)), decay(static_cast<T>(s.decay)), l2(static_cast<T>(s.l2));
  each_piece<T>(n, [&](int64_t i, auto... count) {
    const Vec<T> pi = load(p + i, count...);
    const Vec<T> gi = fma(pi, l2, load(g + i, count...));
    const Vec<T> vi = load(v + i, count...) * alpha + rest * gi * gi;
    store(vi, v + i, count...);
    Vec<T> square = vi;
    if (mean) {
      const Vec<T> mi = fma(gi, rest, load(mean + i, count...) * alpha);
      store(mi, mean + i, count...);
      square = vi - mi * mi;
    }
    Vec<T> direction = gi / (sqrt(square) + eps);
    if (momentum) {
      direction = load(momentum + i, count...) * decay + direction;
      store(direction, momentum + i, count...);
    }
    store(pi - lr * direction, p + i, count...);
  });
}

template <class T>
void adagrad(const optim::AdagradStep& s, int64_t begin, int64_t n) {
  T *const p = from<T>(s.p, begin), *const sum = from<T>(s.sum, begin);
  const T* const g = from<T>(s.g, begin);
  const Vec<T> lr(static_cast<T>(s.lr)), eps(static_cast<T>(s.eps)), l2(static_cast<T>(s.l2));
  each_piece<T>(n, [&](int64_t i, auto... count) {
    const Vec<T> pi = load(p + i, count...);
    const Vec<T> gi = fma(pi, l2, load(g + i, count...));
    const Vec<T> si = load(sum + i, count...) + gi * gi;
    store(si, sum + i, count...);
    store(pi - lr * gi / (sqrt(si) + eps), p + i, count...);
  });
}

template <class T>
void adamax(const optim::AdamaxStep& s, int64_t begin, int64_t n) {
  T *const p = from<T>(s.p, begin), *const m = from<T>(s.m, begin), *const u = from<T>(s.u, begin);
  const T* const g = from<T>(s.g, begin);
  const Vec<T> rest1(static_cast<T>(1 - s.beta1)), beta2(static_cast<T>(s.beta2)), eps(static_cast<T>(s.eps));
  const Vec<T> rate(static_cast<T>(s.rate)), l2(static_cast<T>(s.l2));
  each_piece<T>(n, [&](int64_t i, auto... count) {
    const Vec<T> pi = load(p + i, count...), before = load(m + i, count...);
    const Vec<T> gi = fma(pi, l2, load(g + i, count...));
    const Vec<T> mi = fma(gi - before, rest1, before);
    const Vec<T> ui = maximum(load(u + i, count...) * beta2, abs(gi) + eps);
    store(mi, m + i, count...);
    store(ui, u + i, count...);
    store(pi - rate * mi / ui, p + i, count...);
  });
}

template <class T>
void adadelta(const optim::AdadeltaStep& s, int64_t begin, int64_t n) {
  T *const p = from<T>(s.p, begin), *const v = from<T>(s.v, begin), *const w = from<T>(s.w, begin);
  const T* const g = from<T>(s.g, begin);
  const Vec<T> rho(static_cast<T>(s.rho)), rest(static_cast<T>(1 - s.rho)), eps(static_cast<T>(s.eps));
  const Vec<T> lr(static_cast<T>(s.lr)), l2(static_cast<T>(s.l2));
  each_piece<T>(n, [&](int64_t i, auto... count) {
    const Vec<T> pi = load(p + i, count...), wi = load(w + i, count...);
    const Vec<T> gi = fma(pi, l2, load(g + i, count...));
    const Vec<T> vi = load(v + i, count...) * rho + rest * gi * gi;
    const Vec<T> delta = sqrt(wi + eps) / sqrt(vi + eps) * gi;
    store(vi, v + i, count...);
    store(wi * rho + rest * delta * delta, w + i, count...);
    store(pi - lr * delta, p + i, count...);
  });
}

template <class T>
void lion(const optim::LionStep& s, int64_t begin, int64_t n) {
  T *const p = from<T>(s.p, begin), *const m = from<T>(s.m, begin);
  const T* const g = from<T>(s.g, begin);
  const Vec<T> beta1(static_cast<T>(s.beta1)), rest1(static_cast<T>(1 - s.beta1));
  const Vec<T> beta2(static_cast<T>(s.beta2)), rest2(static_cast<T>(1 - s.beta2));
  const Vec<T> lr(static_cast<T>(s.lr)), shrink(static_cast<T>(s.shrink));
  each_piece<T>(n, [&](int64_t i, auto... count) {
    const Vec<T> gi = load(g + i, count...), mi = load(m + i, count...);
    store(load(p + i, count...) * shrink - lr * sign(mi * beta1 + gi * rest1), p + i, count...);
    store(mi * beta2 + gi * rest2, m + i, count...);
  });
}

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

void adam_kernel(const optim::AdamStep& s, int64_t begin, int64_t end) {
  with_floating_type(s.dtype, [&](auto t) { adam<decltype(t)>(s, begin, end - begin); });
}
void sgd_kernel(const optim::SgdStep& s, int64_t begin, int64_t end) {
  with_floating_type(s.dtype, [&](auto t) { sgd<decltype(t)>(s, begin, end - begin); });
}
void adaptive_kernel(const optim::AdaptiveStep& s, int64_t begin, int64_t end) {
  with_floating_type(s.dtype, [&](auto t) { adaptive<decltype(t)>(s, begin, end - begin); });
}
void rmsprop_kernel(const optim::RmsPropStep& s, int64_t begin, int64_t end) {
  with_floating_type(s.dtype, [&](auto t) { rmsprop<decltype(t)>(s, begin, end - begin); });
}
void adagrad_kernel(const optim::AdagradStep& s, int64_t begin, int64_t end) {
  with_floating_type(s.dtype, [&](auto t) { adagrad<decltype(t)>(s, begin, end - begin); });
}
void adamax_kernel(const optim::AdamaxStep& s, int64_t begin, int64_t end) {
  with_floating_type(s.dtype, [&](auto t) { adamax<decltype(t)>(s, begin, end - begin); });
}
void adadelta_kernel(const optim::AdadeltaStep& s, int64_t begin, int64_t end) {
  with_floating_type(s.dtype, [&](auto t) { adadelta<decltype(t)>(s, begin, end - begin); });
}
void lion_kernel(const optim::LionStep& s, int64_t begin, int64_t end) {
  with_floating_type(s.dtype, [&](auto t) { lion<decltype(t)>(s, begin, end - begin); });
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
HWY_EXPORT(adaptive_kernel);
HWY_EXPORT(rmsprop_kernel);
HWY_EXPORT(adagrad_kernel);
HWY_EXPORT(adamax_kernel);
HWY_EXPORT(adadelta_kernel);
HWY_EXPORT(lion_kernel);
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

void adaptive_update(const AdaptiveStep& step, int64_t begin, int64_t end) {
  kernel_of(HWY_DISPATCH_TABLE(adaptive_kernel))(step, begin, end);
}

void rmsprop_update(const RmsPropStep& step, int64_t begin, int64_t end) {
  kernel_of(HWY_DISPATCH_TABLE(rmsprop_kernel))(step, begin, end);
}

void adagrad_update(const AdagradStep& step, int64_t begin, int64_t end) {
  kernel_of(HWY_DISPATCH_TABLE(adagrad_kernel))(step, begin, end);
}

void adamax_update(const AdamaxStep& step, int64_t begin, int64_t end) {
  kernel_of(HWY_DISPATCH_TABLE(adamax_kernel))(step, begin, end);
}

void adadelta_update(const AdadeltaStep& step, int64_t begin, int64_t end) {
  kernel_of(HWY_DISPATCH_TABLE(adadelta_kernel))(step, begin, end);
}

void lion_update(const LionStep& step, int64_t begin, int64_t end) {
  kernel_of(HWY_DISPATCH_TABLE(lion_kernel))(step, begin, end);
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
