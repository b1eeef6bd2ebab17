// Makes formulas from generic lambdas; included by kernel files, once for each instruction set.
//
// A lambda takes operands, then scalars: [](auto dy, auto y) { return dy * (1 - y * y); }. On vectors it is the inner
// loop of a kernel, on tensors a series of recorded operations. What it calls (where, exp, comparisons) exists for
// both.
#if defined(TAPEGRAD_AUTOGRAD_OPS_FORMULA_SIMD_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEGRAD_AUTOGRAD_OPS_FORMULA_SIMD_H_
#undef TAPEGRAD_AUTOGRAD_OPS_FORMULA_SIMD_H_
#else
#define TAPEGRAD_AUTOGRAD_OPS_FORMULA_SIMD_H_
#endif

#include <tapegrad/autograd/fuse.h>
#include <tapegrad/autograd/kernels/simd/simd.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/formula.h>

#include <utility>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// y[i] = f(x0[i], x1[i], ..., s0, s1, ...)
template <class F, class T, std::size_t... X, std::size_t... S>
HWY_INLINE void formula_row(const void* const* x, T* y, int64_t n, const double* s, std::index_sequence<X...>,
                            std::index_sequence<S...>) {
  const T* const in[] = {static_cast<const T*>(x[X])...};
  const Vec<T> scalars[] = {Vec<T>(static_cast<T>(s[S]))..., Vec<T>()};
  static_cast<void>(scalars);
  for (int64_t i = 0; i < n; i += kLanes<T>) {  // one call of f, so that it is compiled in once
    const int64_t left = n - i;
    if (left >= kLanes<T>) {
      store(F()(load(in[X] + i)..., scalars[S]...), y + i);
    } else {
      store(F()(load(in[X] + i, left)..., scalars[S]...), y + i, left);
    }
  }
}

template <class F, class T, int kOperands, int kScalars>
void formula_kernel(const void* const* x, void* y, int64_t n, const void* context) {
  formula_row<F>(x, static_cast<T*>(y), n, static_cast<const double*>(context), std::make_index_sequence<kOperands>(),
                 std::make_index_sequence<kScalars>());
}

template <class F, std::size_t... X, std::size_t... S>
Tensor formula_on_tensors(const Tensor* const* x, const double* s, std::index_sequence<X...>,
                          std::index_sequence<S...>) {
  static_cast<void>(s);
  return F()(*x[X]..., s[S]...);
}

template <class F, std::size_t... X, std::size_t... S>
Symbol formula_on_symbols(const Symbol* x, const double* s, std::index_sequence<X...>, std::index_sequence<S...>) {
  static_cast<void>(s);
  return F()(x[X]..., s[S]...);
}

// A formula that is not differentiated itself: f may use everything in simd.h.
template <int kOperands, int kScalars = 0, class F>
constexpr Formula value_of(F) {
  return {&formula_kernel<F, float, kOperands, kScalars>, &formula_kernel<F, double, kOperands, kScalars>};
}

// A formula that backward computes: f must work on tensors too.
template <int kOperands, int kScalars = 0, class F>
constexpr Formula derivative_of(F) {
  return {&formula_kernel<F, float, kOperands, kScalars>, &formula_kernel<F, double, kOperands, kScalars>,
          [](const Tensor* const* x, const double* s) {
            return formula_on_tensors<F>(x, s, std::make_index_sequence<kOperands>(),
                                         std::make_index_sequence<kScalars>());
          }};
}

// The same, where f also works on the symbols of fuse(). That form computes nothing, so one instruction set has it.
template <int kOperands, int kScalars = 0, class F>
constexpr Formula fusible_derivative_of(F f) {
  Formula formula = derivative_of<kOperands, kScalars>(f);
  if constexpr (HWY_TARGET == HWY_STATIC_TARGET) {
    formula.symbolic = [](const Symbol* x, const double* s) {
      return formula_on_symbols<F>(x, s, std::make_index_sequence<kOperands>(), std::make_index_sequence<kScalars>());
    };
  }
  return formula;
}

// y = value(x, scalars...) and dx = gradient(dy, y, scalars...), or from x.
template <int kScalars = 0, class F, class G>
constexpr Unary from_y(F value, G gradient) {
  return {value_of<1, kScalars>(value), fusible_derivative_of<2, kScalars>(gradient), true};
}
template <int kScalars = 0, class F, class G>
constexpr Unary from_x(F value, G gradient) {
  return {value_of<1, kScalars>(value), fusible_derivative_of<2, kScalars>(gradient), false};
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the include guard of this instruction set
