// The kernel of all elementwise optimisers: one pass over a parameter and its state tensors. A rule is one lambda,
// which computes the new value of an element from the old one and its gradient, and changes the state tensors'
// elements:
//
//   // build: -O3
//   #define HWY_TARGET_INCLUDE "tapegrad/optim/rules/momentum.cpp"
//   #include <tapegrad/optim/kernels/update-inl.h>
//   #include <tapegrad/optim/momentum.h>
//
//   HWY_BEFORE_NAMESPACE();
//   namespace tapegrad::HWY_NAMESPACE {
//   void momentum(const optim::Elements& x, double lr, double decay) {
//     update<1>(x, [=](auto p, auto g, auto& m) {
//       m = m * decay + g;
//       return p - lr * m;
//     });
//   }
//   }  // namespace tapegrad::HWY_NAMESPACE
//   HWY_AFTER_NAMESPACE();
//
//   #if HWY_ONCE
//   namespace tapegrad::optim {
//   HWY_EXPORT(momentum);
//   void Momentum::update(const Slot& slot, int64_t begin, int64_t end) {
//     kernel_of(HWY_DISPATCH_TABLE(momentum))(elements_of(slot, begin, end), group_lr(slot.group), decay_);
//   }
//   }  // namespace tapegrad::optim
//   #endif  // HWY_ONCE
//
// Numbers are rounded to the type of the tensors, float or double, where they meet an element; what is computed among
// them is computed in double.
#include <tapegrad/autograd/internal/vectors-inl.h>  // first: it compiles the file for all targets but one

#if defined(TAPEGRAD_OPTIM_UPDATE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEGRAD_OPTIM_UPDATE_INL_H_
#undef TAPEGRAD_OPTIM_UPDATE_INL_H_
#else
#define TAPEGRAD_OPTIM_UPDATE_INL_H_
#endif

#include <tapegrad/optim/kernels/elements.h>

#include <utility>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// A state tensor that the optimiser does not have is 0, and stays so.
template <class T, class Rule, std::size_t... I>
HWY_INLINE void update_row(const optim::Elements& x, const Rule& rule, std::index_sequence<I...>) {
  T* const p = static_cast<T*>(x.parameter) + x.begin;
  const T* const g = static_cast<const T*>(x.grad) + x.begin;
  T* const buffers[] = {x.buffers[I] ? static_cast<T*>(x.buffers[I]) + x.begin : nullptr...};
  const auto piece = [&](int64_t i, auto... count) {
    Vec<T> values[] = {buffers[I] ? load(buffers[I] + i, count...) : Vec<T>()...};
    const Vec<T> updated = rule(load(p + i, count...), load(g + i, count...), values[I]...);
    ((buffers[I] ? store(values[I], buffers[I] + i, count...) : void()), ...);
    store(updated, p + i, count...);
  };
  const int64_t n = x.end - x.begin;
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) piece(i);
  if (i < n) piece(i, n - i);
}

/// p = rule(p, g, buffers...) for each element; kBuffers is the number of state tensors that the rule takes.
template <std::size_t kBuffers, class Rule>
HWY_INLINE void update(const optim::Elements& x, const Rule& rule) {
  with_floating_type(x.dtype, [&](auto t) { update_row<decltype(t)>(x, rule, std::make_index_sequence<kBuffers>()); });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
