// What the formulas of flex_attention call: functions of kWidth numbers, and tables of constants.
// build: -O2
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/attention/flex/flex_functions.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <fmt/format.h>
#include <tapegrad/autograd/flex_score.h>
#include <tapegrad/autograd/kernels/simd/simd.h>
#include <tapegrad/autograd/op.h>

#ifndef TAPEGRAD_FLEX_FUNCTIONS
#define TAPEGRAD_FLEX_FUNCTIONS
namespace tapegrad {

template <class T>
struct FlexFunctions {
  void (*exp)(const T* x, T* y);
  void (*log)(const T* x, T* y);
  void (*tanh)(const T* x, T* y);
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// y = f(x), kWidth numbers.
template <class T, class F>
HWY_INLINE void flex_row(const T* x, T* y, F f) {
  static_assert(flex::kWidth % kLanes<T> == 0);
  for (int64_t i = 0; i < flex::kWidth; i += kLanes<T>) store(f(load(x + i)), y + i);
}

template <class T>
const FlexFunctions<T>& flex_functions_of() {
  static constexpr FlexFunctions<T> functions{
      [](const T* x, T* y) HWY_ATTR { flex_row(x, y, [](Vec<T> v) HWY_ATTR { return exp(v); }); },
      [](const T* x, T* y) HWY_ATTR { flex_row(x, y, [](Vec<T> v) HWY_ATTR { return log(v); }); },
      [](const T* x, T* y) HWY_ATTR { flex_row(x, y, [](Vec<T> v) HWY_ATTR { return tanh(v); }); }};
  return functions;
}
const FlexFunctions<float>& flex_functions_float() { return flex_functions_of<float>(); }
const FlexFunctions<double>& flex_functions_double() { return flex_functions_of<double>(); }

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {

HWY_EXPORT(flex_functions_float);
HWY_EXPORT(flex_functions_double);

namespace flex {
namespace {

const FlexFunctions<float>& of_float() { return chosen<HWY_DISPATCH_TABLE(flex_functions_float)>(); }
const FlexFunctions<double>& of_double() { return chosen<HWY_DISPATCH_TABLE(flex_functions_double)>(); }

}  // namespace

namespace detail {

void exp_of(const float* x, float* y) { of_float().exp(x, y); }
void exp_of(const double* x, double* y) { of_double().exp(x, y); }
void log_of(const float* x, float* y) { of_float().log(x, y); }
void log_of(const double* x, double* y) { of_double().log(x, y); }
void tanh_of(const float* x, float* y) { of_float().tanh(x, y); }
void tanh_of(const double* x, double* y) { of_double().tanh(x, y); }

}  // namespace detail

template <class E>
Table<E>::Table(const Tensor& x) {
  if (x.dtype() != dtype_of<E>()) {
    fail("flex::Table", fmt::format("expected a {} tensor, got {}", name(dtype_of<E>()), name(x.dtype())));
  }
  if (needs_grad(x) || (x.is_leaf() && !x.is_frozen())) {
    fail("flex::Table", "the tensor requires a gradient, which tables do not have (detach() it)");
  }
  values_ = x.detach().contiguous();
  data_ = values_.template data<E>();
}

template <class E>
void Table<E>::fail_count(std::size_t given) const {
  fail("flex::Table", fmt::format("expected one index per axis of {}, got {}", str(values_.shape()), given));
}

template <class E>
void Table<E>::fail_index(int axis, int64_t index) const {
  fail("flex::Table", fmt::format("index {} is out of range for axis {} of {}", index, axis, str(values_.shape())));
}

template class Table<float>;
template class Table<double>;
template class Table<int64_t>;

}  // namespace flex
}  // namespace tapegrad
#endif  // HWY_ONCE
