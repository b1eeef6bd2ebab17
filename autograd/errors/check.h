// Checks of the arguments of operations and modules.
#pragma once

#include <tapegrad/autograd/limits.h>
#include <tapegrad/autograd/tensor.h>

#include <initializer_list>
#include <string_view>

namespace tapegrad {

/// Error unless `dtype` is float32 or float64.
void require_floating(std::string_view where, DType dtype);
[[noreturn]] void fail_floating(std::string_view where, std::initializer_list<const Tensor*> operands);
/// Error unless all operands are float32 or all are float64. Empty handles after the first are skipped.
inline void require_floating(std::string_view where, std::initializer_list<const Tensor*> operands) {
  const DType dtype = (*operands.begin())->dtype();
  bool fits = is_floating(dtype);
  for (const Tensor* x : operands) fits = fits && (!x->defined() || x->dtype() == dtype);
  if (!fits) fail_floating(where, operands);
}
/// Error unless `x` is bool; `what` names it ("mask").
void require_bool(std::string_view where, const Tensor& x, std::string_view what);
/// Error if `dtype` is an integer type and the value is not an integer in its range.
void require_number(std::string_view where, DType dtype, Scalar value);
/// Ids, indices, class numbers or the like as int64: other integer types are converted. Error for any other type;
/// `what` names them ("indices").
Tensor require_integers(std::string_view where, const Tensor& x, std::string_view what);
/// Error unless 0 <= p <= 1; `what` names it ("dropout").
inline void require_probability(std::string_view where, std::string_view what, double p) {
  require_in(where, what, p, kShare);
}

}  // namespace tapegrad
