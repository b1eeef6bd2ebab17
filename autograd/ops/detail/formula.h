// Operations made of formulas. A derivative is written once: on vectors it is a fused kernel, on tensors it records
// itself.
#pragma once

#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops/detail/map.h>

#include <initializer_list>
#include <string_view>

namespace tapegrad {

class Symbol;

/// Numbers that a formula takes after its operands: an exponent, bounds.
struct Scalars {
  double values[3] = {};
};

/// One formula in its forms, made from one generic lambda by formula_simd.h.
struct Formula {
  MapKernel float32 = nullptr;
  MapKernel float64 = nullptr;
  Tensor (*recorded)(const Tensor* const* operands, const double* scalars) = nullptr;  // derivatives only
  MapWork work = MapWork::heavy;
  Symbol (*symbolic)(const Symbol* operands, const double* scalars) = nullptr;  // derivatives that fuse() may meet

  MapKernel kernel(DType dtype) const { return dtype == kFloat32 ? float32 : float64; }
};

/// A function of one tensor and its derivative: dx from dy and the tensor that was kept, x or y.
struct Unary {
  Formula value;
  Formula gradient;
  bool keeps_y;
  bool keeps_rounded = false;  // with an Autocast, what it keeps is rounded to bfloat16
};

/// Marks formulas with so little arithmetic that memory bandwidth limits them.
constexpr Formula light(Formula formula) {
  formula.work = MapWork::light;
  return formula;
}
constexpr Unary light(Unary function) {
  function.value = light(function.value);
  function.gradient = light(function.gradient);
  return function;
}
/// Marks an activation function: its inputs are mostly results of matmuls, whose errors with an Autocast are as large.
constexpr Unary activation(Unary function) {
  function.keeps_rounded = true;
  return function;
}

/// Runs the kernel on operands of one floating type, which broadcast to `shape`. Not recorded.
Tensor compute(const Formula& formula, const Shape& shape, std::initializer_list<const Tensor*> operands,
               const Scalars& scalars = {});
/// For backward: runs the kernel in one pass or, where backward itself is recorded, operation by operation. The result
/// has the shape of the first operand, dy.
Tensor derive(const Formula& formula, std::initializer_list<const Tensor*> operands, const Scalars& scalars = {});

/// y = value(x), recorded. Error unless x is float32 or float64.
Tensor unary(const Op& op, const Tensor& x, const Unary& function, const Scalars& scalars = {});

/// y[i] = f(a[i]), or f(a[i], b[i]), as a plain loop: for int64 and bool.
template <class Out, class In, int kOperands, class F>
constexpr MapKernel plain_loop(F) {
  return [](const void* const* x, void* y, int64_t n, const void*) {
    const In* const a = static_cast<const In*>(x[0]);
    Out* const out = static_cast<Out*>(y);
    if constexpr (kOperands == 1) {
      for (int64_t i = 0; i < n; ++i) out[i] = F()(a[i]);
    } else {
      const In* const b = static_cast<const In*>(x[1]);
      for (int64_t i = 0; i < n; ++i) out[i] = F()(a[i], b[i]);
    }
  };
}

/// y = formula(x, number), recorded with the number as a setting.
Tensor with_scalar(const Op& op, const Tensor& x, const Formula& formula, Scalar number, Backward&& backward,
                   std::string_view setting = "number");

/// The shape that a and b broadcast to.
inline Shape shape_of(std::string_view where, const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() ? a.shape() : broadcast(where, a.shape(), b.shape());
}

/// A scalar operand of an integer or bool tensor: int64 where the number is whole, float32 otherwise, as in PyTorch.
Tensor promote_scalar(Scalar number);
/// operation(x, promote_scalar(number)). A uint8 or int32 tensor keeps its type with a whole number, even without axes.
Tensor with_number(auto operation, const Tensor& x, Scalar number) {
  const Tensor scalar = promote_scalar(number);
  if (!is_narrow_integer(x.dtype()) || scalar.dtype() != kInt64) return operation(x, scalar);
  return operation(x.to(kInt64), scalar).to(x.dtype());
}
/// Whether operands must be converted by promote(): their types differ, or kernels do not compute in their type.
inline bool needs_promotion(const Tensor& a, const Tensor& b) {
  return a.dtype() != b.dtype() || is_narrow_integer(a.dtype());
}
/// operation(a, b) of operands in the type of its result, or in int64 for a result that is uint8 or int32.
Tensor promote(auto operation, const Tensor& a, const Tensor& b) {
  const DType result = result_type(a, b), dtype = is_narrow_integer(result) ? kInt64 : result;
  return operation(a.to(dtype), b.to(dtype)).to(result);
}

}  // namespace tapegrad
