// Operations made of formulas: a derivative is written once, runs fused on vectors, and records itself on tensors.
#pragma once

#include <tapegrad/autograd/ops/map.h>
#include <tapegrad/autograd/tape.h>

#include <initializer_list>

namespace tapegrad {

// Numbers that a formula takes behind its operands: an exponent, bounds.
struct Scalars {
  double values[2] = {};
};

// One formula in its three forms (formula_simd.h makes them of one generic lambda).
struct Formula {
  MapKernel float32 = nullptr;
  MapKernel float64 = nullptr;
  Tensor (*recorded)(const Tensor* const* operands, const double* scalars) = nullptr;  // where it is a derivative

  MapKernel kernel(DType dtype) const { return dtype == kFloat32 ? float32 : float64; }
};

// A function of one tensor and its derivative: dx from dy and what was kept, x or y.
struct Unary {
  Formula value;
  Formula gradient;
  bool keeps_y;
};

// The kernel over operands of one floating type that broadcast to `shape`; nothing is recorded.
Tensor compute(const Formula& formula, const Shape& shape, std::initializer_list<const Tensor*> operands,
               const Scalars& scalars = {});
// For backward: the kernel in one pass, or operation by operation where backward itself is recorded. Has the shape of
// the first operand, which is dy.
Tensor derive(const Formula& formula, std::initializer_list<const Tensor*> operands, const Scalars& scalars = {});

// Error unless x is float32 or float64.
void need_floating(const Op& op, const Tensor& x);
// y = value(x), recorded. Error unless x is floating.
Tensor unary(const Op& op, const Tensor& x, const Unary& function, const Scalars& scalars = {});

// y[i] = f(a[i]), or f(a[i], b[i]), as a plain loop: for integers and truth values.
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

// The shape of a result of two operands.
inline Shape shape_of(std::string_view where, const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() ? a.shape() : broadcast(where, a.shape(), b.shape());
}

// A number beside a tensor of integers or truth values: int64 where it is whole, float32 otherwise, as in PyTorch.
Tensor beside_integers(double number);

}  // namespace tapegrad
