// The formulas that fuse() combines, which the files of elementwise operations define.
#pragma once

#include <tapegrad/autograd/ops/detail/formula.h>

#include <string_view>

namespace tapegrad {

struct ArithmeticFormulas {
  Formula add, sub, mul, div, pow, maximum, minimum, neg;
  Formula add_scalar, mul_scalar, div_scalar, rsub_scalar, maximum_scalar, minimum_scalar;
  Formula div_grad_b, pow_grad_a, pow_grad_b, maximum_grad, minimum_grad;
  Formula fmod, remainder, fmod_scalar, remainder_scalar, fmod_grad_b, remainder_grad_b;
  Formula atan2, atan2_grad, lerp, lerp_scalar, lerp_grad_a;
  Unary rdiv_scalar, clamp, power, square, cube, sqrt, reciprocal, rsqrt;
};

/// kernels: formulas with the kernels of the instruction set in use. symbols: formulas with Formula::symbolic.
enum class FormulasFor : bool { kernels, symbols };

const ArithmeticFormulas& arithmetic_formulas_for(FormulasFor use);
/// A function of one tensor; the name must be one of the table's.
const Unary& function_named(std::string_view name, FormulasFor use);

}  // namespace tapegrad
