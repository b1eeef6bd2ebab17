// Arithmetic: add, sub, mul, div, pow, neg, fmod, remainder, maximum, minimum, clamp, atan2, lerp, and the sum of
// gradients.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/elementwise/arithmetic.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/power-inl.h>
#include <tapegrad/autograd/ops/detail/formula_simd.h>
#include <tapegrad/autograd/ops/detail/fusible.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// From the nearer end. Where the distance is infinite, an end is exact, and infinite ends are weighted.
constexpr auto kLerpOf = [](auto a, auto b, auto w) {
  const auto gap = where(a == b, 0, b - a);
  const auto near = where(abs(w) < 0.5, a + w * gap, b - gap * (1 - w));
  const auto far = where(maximum(abs(a), abs(b)) == INFINITY, a * (1 - w) + b * w, near);
  return where(abs(gap) == INFINITY, where(w == 0, a, where(w == 1, b, far)), near);
};

const ArithmeticFormulas& arithmetic_formulas() {
  static constexpr ArithmeticFormulas formulas = {
      .add = light(value_of<2>([](auto a, auto b) { return a + b; })),
      .sub = light(value_of<2>([](auto a, auto b) { return a - b; })),
      .mul = light(value_of<2>([](auto a, auto b) { return a * b; })),
      .div = value_of<2>([](auto a, auto b) { return a / b; }),
      .pow = value_of<2>([](auto a, auto b) { return pow(a, b); }),
      .maximum = light(value_of<2>([](auto a, auto b) { return maximum(a, b); })),
      .minimum = light(value_of<2>([](auto a, auto b) { return minimum(a, b); })),
      .neg = light(value_of<1>([](auto x) { return -x; })),

      .add_scalar = light(value_of<1, 1>([](auto x, auto s) { return x + s; })),
      .mul_scalar = light(value_of<1, 1>([](auto x, auto s) { return x * s; })),
      .div_scalar = value_of<1, 1>([](auto x, auto s) { return x / s; }),
      .rsub_scalar = light(value_of<1, 1>([](auto x, auto s) { return s - x; })),
      .maximum_scalar = light(value_of<1, 1>([](auto x, auto s) { return maximum(x, s); })),
      .minimum_scalar = light(value_of<1, 1>([](auto x, auto s) { return minimum(x, s); })),

      .div_grad_b = fusible_derivative_of<3>([](auto dy, auto a, auto b) { return -dy * (a / b / b); }),
      // 0 at b = 0, also where a^(b-1) is infinite or NaN; elsewhere written so that it depends on b there, too.
      .pow_grad_a = fusible_derivative_of<3>([](auto dy, auto a, auto b) {
        const auto power = pow(where(a == 0, where(b == 0, 1, a), a), b - 1);
        const auto grad = dy * (b * power);
        return where(b == 0, where(abs(power) < INFINITY, grad, 0), grad);
      }),
      // y = a^b. At a = 0, where the logarithm is -inf, the power is constant in b for b > 0.
      .pow_grad_b = fusible_derivative_of<4>([](auto dy, auto a, auto b, auto y) {
        const auto grad = dy * (y * log(where(a == 0, where(b >= 0, 1, a), a)));
        return where(a == 0, where(b >= 0, 0, grad), grad);
      }),
      // The gradient of a; exchange a and b for that of b. With NaN on either side both get dy.
      .maximum_grad = fusible_derivative_of<3>(
          [](auto dy, auto a, auto b) { return where(a < b, 0, where(a == b, dy * 0.5, dy)); }),
      .minimum_grad = fusible_derivative_of<3>(
          [](auto dy, auto a, auto b) { return where(a > b, 0, where(a == b, dy * 0.5, dy)); }),

      .fmod = value_of<2>([](auto a, auto b) { return fmod(a, b); }),
      .remainder = value_of<2>([](auto a, auto b) { return remainder(a, b); }),
      .fmod_scalar = value_of<1, 1>([](auto x, auto s) { return fmod(x, s); }),
      .remainder_scalar = value_of<1, 1>([](auto x, auto s) { return remainder(x, s); }),
      // -dy times the integer quotient. a / b may round up to the next integer; a - fmod(a, b) is a multiple of b.
      .fmod_grad_b = derivative_of<3>([](auto dy, auto a, auto b) { return -dy * round((a - fmod(a, b)) / b); }),
      .remainder_grad_b = derivative_of<3>([](auto dy, auto a, auto b) {
        const auto left = fmod(a, b), quotient = round((a - left) / b);
        return -dy * where(sign(left) * sign(b) < 0, quotient - 1, quotient);
      }),

      .atan2 = value_of<2>([](auto y, auto x) { return atan2(y, x); }),
      // along one side from the other one: d/dy = x / (x^2 + y^2), d/dx = -y / (x^2 + y^2); 0 at the origin. Both sides
      // are divided by a power of four near the longer one, so that no square vanishes or overflows.
      .atan2_grad = fusible_derivative_of<3>([](auto dy, auto given_other, auto given_own) {
        const auto size = maximum(abs(given_own), abs(given_other));
        const auto root = rough_inverse_root(size);
        const auto own = given_own * root * root, other = given_other * root * root;
        const auto square = own * own + other * other;
        return where(square == 0, 0, dy * (other / where(square == 0, 1, square))) * root * root;
      }),
      .lerp = value_of<3>(kLerpOf),
      .lerp_scalar = value_of<2, 1>(kLerpOf),
      .lerp_grad_a = derivative_of<2>([](auto dy, auto w) { return dy * (1 - w); }),

      .rdiv_scalar =
          from_x<1>([](auto x, auto s) { return s / x; }, [](auto dy, auto x, auto s) { return -dy * (s / x / x); }),
      .clamp =
          from_x<2>([](auto x, auto low, auto high) { return minimum(maximum(x, low), high); },
                    [](auto dy, auto x, auto low, auto high) { return where(x >= low, where(x <= high, dy, 0), 0); }),
      .power = from_x<1>([](auto x, auto s) { return pow(x, s); },
                         [](auto dy, auto x, auto s) { return dy * (s * pow(x, s - 1)); }),
      .square = light(from_x([](auto x) { return x * x; }, [](auto dy, auto x) { return dy * (2 * x); })),
      .cube = from_x([](auto x) { return x * x * x; }, [](auto dy, auto x) { return dy * (3 * (x * x)); }),
      .sqrt = from_y([](auto x) { return sqrt(x); }, [](auto dy, auto y) { return dy / (2 * y); }),
      .reciprocal = from_y([](auto x) { return 1 / x; }, [](auto dy, auto y) { return -dy * (y * y); }),
      .rsqrt = from_y([](auto x) { return rsqrt(x); }, [](auto dy, auto y) { return -0.5 * dy * (y * y * y); }),
  };
  return formulas;
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/internal/fail.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapegrad {
namespace {

HWY_EXPORT(arithmetic_formulas);

const ArithmeticFormulas& formulas() { return chosen<HWY_DISPATCH_TABLE(arithmetic_formulas)>(); }

const ElementwiseOp kAdd{"add"};
const ElementwiseOp kSub{"sub"};
const ElementwiseOp kMul{"mul"};
const ElementwiseOp kDiv{"div"};
const ElementwiseOp kPow{"pow"};
const ElementwiseOp kNeg{"neg"};
const ElementwiseOp kMaximum{"maximum"};
const ElementwiseOp kMinimum{"minimum"};
const ElementwiseOp kClamp{"clamp"};
const ElementwiseOp kFmod{"fmod"};
const ElementwiseOp kRemainder{"remainder"};
const ElementwiseOp kAtan2{"atan2"};
const ElementwiseOp kLerp{"lerp"};

// The loops of an operation on integers; without one for bool, bool operands are an error.
struct IntegerLoops {
  MapKernel int64;
  MapKernel boolean;
};

using BinaryFunction = Tensor (*)(const Tensor&, const Tensor&);

// Integers wrap around: they are added and multiplied as unsigned numbers.
uint64_t bits(int64_t x) { return static_cast<uint64_t>(x); }

int64_t integer_power(int64_t base, int64_t exponent) {
  uint64_t y = 1;
  for (uint64_t square = bits(base); exponent > 0; exponent >>= 1, square *= square) {
    if (exponent & 1) y *= square;
  }
  return static_cast<int64_t>(y);
}

using Int = int64_t;
constexpr IntegerLoops kAddLoops{plain_loop<Int, Int, 2>([](Int a, Int b) { return Int(bits(a) + bits(b)); }),
                                 plain_loop<bool, bool, 2>([](bool a, bool b) { return a || b; })};
constexpr IntegerLoops kSubLoops{plain_loop<Int, Int, 2>([](Int a, Int b) { return Int(bits(a) - bits(b)); }), nullptr};
constexpr IntegerLoops kMulLoops{plain_loop<Int, Int, 2>([](Int a, Int b) { return Int(bits(a) * bits(b)); }),
                                 plain_loop<bool, bool, 2>([](bool a, bool b) { return a && b; })};
constexpr IntegerLoops kPowLoops{plain_loop<Int, Int, 2>([](Int a, Int b) { return integer_power(a, b); }), nullptr};
constexpr IntegerLoops kMaximumLoops{plain_loop<Int, Int, 2>([](Int a, Int b) { return std::max(a, b); }),
                                     plain_loop<bool, bool, 2>([](bool a, bool b) { return a || b; })};
constexpr IntegerLoops kMinimumLoops{plain_loop<Int, Int, 2>([](Int a, Int b) { return std::min(a, b); }),
                                     plain_loop<bool, bool, 2>([](bool a, bool b) { return a && b; })};
// What is left of a / b; the divisor is not 0. The smallest number divided by -1 would trap.
constexpr IntegerLoops kFmodLoops{plain_loop<Int, Int, 2>([](Int a, Int b) { return b == -1 ? 0 : a % b; }), nullptr};
constexpr IntegerLoops kRemainderLoops{plain_loop<Int, Int, 2>([](Int a, Int b) {
                                         const Int left = b == -1 ? 0 : a % b;
                                         return left != 0 && (left < 0) != (b < 0) ? left + b : left;
                                       }),
                                       nullptr};

Tensor binary_value(const Op& op, const Formula& formula, const IntegerLoops& loops, const Tensor& a, const Tensor& b) {
  if (is_floating(a.dtype())) {
    return a.shape() == b.shape() ? compute(formula, a.shape(), {&a, &b})
                                  : compute(formula, broadcast(op.name, a.shape(), b.shape()), {&a, &b});
  }
  const Shape shape = shape_of(op.name, a, b);
  const MapKernel kernel = a.dtype() == kBool ? loops.boolean : loops.int64;
  if (!kernel) {
    fail(op, "expected operands other than bool (convert one with to(kInt64){})",
         &op == &kSub ? ", or use logical_xor" : "");
  }
  Tensor y = Tensor::empty(shape, a.dtype());
  map(y, {&a, &b}, kernel);
  return y;
}

// Integers and bools are divided as float32.
Tensor dividable(const Tensor& x) {
  if (is_half(x.dtype())) detail::refuse_to_compute(x.dtype());
  return is_floating(x.dtype()) ? x : x.to(kFloat32);
}

}  // namespace

// --- two tensors ---

Tensor add(const Tensor& a, const Tensor& b) {
  if (needs_promotion(a, b)) return promote(static_cast<BinaryFunction>(add), a, b);
  return record(kAdd, binary_value(kAdd, formulas().add, kAddLoops, a, b), {a, b}, [](const Tensor& dy) -> Grads {
    return {dy, dy};
  });
}

Tensor sub(const Tensor& a, const Tensor& b) {
  if (needs_promotion(a, b)) return promote(static_cast<BinaryFunction>(sub), a, b);
  Tensor y = binary_value(kSub, formulas().sub, kSubLoops, a, b);
  return record(kSub, y, {a, b}, [wants_b = needs_grad(b)](const Tensor& dy) -> Grads {
    return {dy, wants_b ? -dy : Tensor()};
  });
}

Tensor mul(const Tensor& a, const Tensor& b) {
  if (needs_promotion(a, b)) return promote(static_cast<BinaryFunction>(mul), a, b);
  Tensor y = binary_value(kMul, formulas().mul, kMulLoops, a, b);
  const bool wants_a = needs_grad(a), wants_b = needs_grad(b);
  if (!wants_a && !wants_b) return y;
  return record(
      kMul, std::move(y), {a, b},
      [a = kept_if(wants_b, a), b = kept_if(wants_a, b)](const Tensor& dy, const BackwardPass& pass) -> Grads {
        return {b.defined() && pass.wants(0) ? dy * b : Tensor(), a.defined() && pass.wants(1) ? dy * a : Tensor()};
      });
}

Tensor div(const Tensor& a, const Tensor& b) {
  if (!is_floating(a.dtype()) && !is_floating(b.dtype())) return div(dividable(a), dividable(b));
  if (needs_promotion(a, b)) return promote(static_cast<BinaryFunction>(div), a, b);
  Tensor y = compute(formulas().div, shape_of(kDiv.name, a, b), {&a, &b});
  const bool wants_a = needs_grad(a), wants_b = needs_grad(b);
  if (!wants_a && !wants_b) return y;
  return record(kDiv, y, {a, b}, [wants_a, a = kept_if(wants_b, a), b](const Tensor& dy) -> Grads {
    return {wants_a ? dy / b : Tensor(), a.defined() ? derive(formulas().div_grad_b, {&dy, &a, &b}) : Tensor()};
  });
}

Tensor pow(const Tensor& a, const Tensor& b) {
  if (needs_promotion(a, b)) return promote(static_cast<BinaryFunction>(pow), a, b);
  if (a.dtype() == kBool) return pow(a.to(kInt64), b.to(kInt64));
  require(a.dtype() != kInt64 || !any(lt(b, 0)), kPow,
          "expected integer exponents >= 0, got a negative one (convert the base with to(kFloat32))");
  Tensor y = binary_value(kPow, formulas().pow, kPowLoops, a, b);
  const bool wants_a = needs_grad(a), wants_b = needs_grad(b);
  if (!wants_a && !wants_b) return y;
  return record(kPow, y, {a, b}, [wants_a, a, b, y = kept_if(wants_b, y)](const Tensor& dy) -> Grads {
    return {wants_a ? derive(formulas().pow_grad_a, {&dy, &a, &b}) : Tensor(),
            y.defined() ? derive(formulas().pow_grad_b, {&dy, &a, &b, &y}) : Tensor()};
  });
}

// --- a tensor and a number: a floating tensor keeps its type ---

Tensor add(const Tensor& a, Scalar b) {
  if (!is_floating(a.dtype())) return with_number(static_cast<BinaryFunction>(add), a, b);
  return with_scalar(kAdd, a, formulas().add_scalar, b, [](const Tensor& dy) -> Grads { return dy; });
}

Tensor sub(const Tensor& a, Scalar b) {
  if (!is_floating(a.dtype())) return with_number(static_cast<BinaryFunction>(sub), a, b);
  return with_scalar(
      kSub, a, formulas().add_scalar, -b, [](const Tensor& dy) -> Grads { return dy; }, "added");
}

Tensor sub(Scalar a, const Tensor& b) {
  if (!is_floating(b.dtype()))
    return with_number([](const Tensor& x, const Tensor& number) { return sub(number, x); }, b, a);
  return with_scalar(
      kSub, b, formulas().rsub_scalar, a, [](const Tensor& dy) -> Grads { return -dy; }, "first");
}

Tensor mul(const Tensor& a, Scalar b) {
  if (!is_floating(a.dtype())) return with_number(static_cast<BinaryFunction>(mul), a, b);
  return with_scalar(kMul, a, formulas().mul_scalar, b, [b = double{b}](const Tensor& dy) -> Grads { return dy * b; });
}

Tensor div(const Tensor& a, Scalar b) {
  if (!is_floating(a.dtype())) return div(dividable(a), b);
  return with_scalar(kDiv, a, formulas().div_scalar, b, [b = double{b}](const Tensor& dy) -> Grads { return dy / b; });
}

Tensor div(Scalar a, const Tensor& b) { return unary(kDiv, dividable(b), formulas().rdiv_scalar, {a}); }

Tensor pow(const Tensor& a, Scalar exponent) {
  if (!is_floating(a.dtype())) return with_number(static_cast<BinaryFunction>(pow), a, exponent);
  const ArithmeticFormulas& f = formulas();
  if (exponent == 2) return unary(kPow, a, f.square);
  if (exponent == 3) return unary(kPow, a, f.cube);
  if (exponent == 0.5) return unary(kPow, a, f.sqrt);
  if (exponent == -0.5) return unary(kPow, a, f.rsqrt);
  if (exponent == -1) return unary(kPow, a, f.reciprocal);
  if (exponent == 1) return mul(a, 1);
  if (exponent == 0) {
    return record(kPow, ones_like(a), {a}, [](const Tensor& dy) -> Grads { return zeros_like(dy); });
  }
  return unary(kPow, a, f.power, {exponent});
}

Tensor neg(const Tensor& x) {
  if (x.dtype() == kBool) kNeg.fail("expected a type other than bool (use logical_not)");
  if (is_integer(x.dtype())) return sub(scalar(0, x.dtype()), x);
  return record(kNeg, compute(formulas().neg, x.shape(), {&x}), {x}, [](const Tensor& dy) -> Grads { return -dy; });
}

// --- maximum, minimum, clamp ---

namespace {

Tensor extreme(const Op& op, const Formula& value, const Formula& gradient, const IntegerLoops& loops, const Tensor& a,
               const Tensor& b) {
  Tensor y = binary_value(op, value, loops, a, b);
  const bool wants_a = needs_grad(a), wants_b = needs_grad(b);
  if (!wants_a && !wants_b) return y;
  return record(op, y, {a, b}, [&gradient, wants_a, wants_b, a, b](const Tensor& dy) -> Grads {
    return {wants_a ? derive(gradient, {&dy, &a, &b}) : Tensor(), wants_b ? derive(gradient, {&dy, &b, &a}) : Tensor()};
  });
}

Tensor extreme(const Op& op, const Formula& value, const Formula& gradient, const Tensor& a, double b) {
  Tensor y = compute(value, a.shape(), {&a}, {b});
  if (!needs_grad(a)) return y;
  return record(op, y, {a}, [&gradient, a, b](const Tensor& dy) -> Grads {
    const Tensor bound = scalar(b, a.dtype());
    return derive(gradient, {&dy, &a, &bound});
  });
}

}  // namespace

Tensor maximum(const Tensor& a, const Tensor& b) {
  if (needs_promotion(a, b)) return promote(static_cast<BinaryFunction>(maximum), a, b);
  return extreme(kMaximum, formulas().maximum, formulas().maximum_grad, kMaximumLoops, a, b);
}

Tensor minimum(const Tensor& a, const Tensor& b) {
  if (needs_promotion(a, b)) return promote(static_cast<BinaryFunction>(minimum), a, b);
  return extreme(kMinimum, formulas().minimum, formulas().minimum_grad, kMinimumLoops, a, b);
}

Tensor maximum(const Tensor& a, Scalar b) {
  if (!is_floating(a.dtype())) return with_number(static_cast<BinaryFunction>(maximum), a, b);
  return extreme(kMaximum, formulas().maximum_scalar, formulas().maximum_grad, a, b);
}

Tensor minimum(const Tensor& a, Scalar b) {
  if (!is_floating(a.dtype())) return with_number(static_cast<BinaryFunction>(minimum), a, b);
  return extreme(kMinimum, formulas().minimum_scalar, formulas().minimum_grad, a, b);
}

Tensor clamp(const Tensor& x, std::optional<Scalar> low, std::optional<Scalar> high) {
  if (!low && !high) kClamp.fail("expected a lower bound, an upper bound or both");
  if (!is_floating(x.dtype())) {
    const Tensor above = low ? maximum(x, *low) : x;
    return high ? minimum(above, *high) : above;
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return unary(kClamp, x, formulas().clamp, {low.value_or(-kInfinity), high.value_or(kInfinity)});
}

// --- what a division leaves ---

namespace {

Tensor left_over(const Op& op, const Formula& value, const Formula& gradient_b, const IntegerLoops& loops,
                 const Tensor& a, const Tensor& b) {
  if (a.dtype() == kInt64 && any(eq(b, 0))) op.fail("expected nonzero int64 divisors, got a zero");
  Tensor y = binary_value(op, value, loops, a, b);
  const bool wants_b = needs_grad(b);
  return record(op, y, {a, b},
                [&gradient_b, a = kept_if(wants_b, a), b = kept_if(wants_b, b)](const Tensor& dy) -> Grads {
                  return {dy, b.defined() ? derive(gradient_b, {&dy, &a, &b}) : Tensor()};
                });
}

Tensor left_over(const Op& op, const Formula& value, const Tensor& a, double b) {
  return record(op, compute(value, a.shape(), {&a}, {b}), {a}, [](const Tensor& dy) -> Grads { return dy; });
}

}  // namespace

Tensor fmod(const Tensor& a, const Tensor& b) {
  if (needs_promotion(a, b)) return promote(static_cast<BinaryFunction>(fmod), a, b);
  return left_over(kFmod, formulas().fmod, formulas().fmod_grad_b, kFmodLoops, a, b);
}

Tensor remainder(const Tensor& a, const Tensor& b) {
  if (needs_promotion(a, b)) return promote(static_cast<BinaryFunction>(remainder), a, b);
  return left_over(kRemainder, formulas().remainder, formulas().remainder_grad_b, kRemainderLoops, a, b);
}

Tensor fmod(const Tensor& a, Scalar b) {
  if (!is_floating(a.dtype())) return with_number(static_cast<BinaryFunction>(fmod), a, b);
  return left_over(kFmod, formulas().fmod_scalar, a, b);
}

Tensor remainder(const Tensor& a, Scalar b) {
  if (!is_floating(a.dtype())) return with_number(static_cast<BinaryFunction>(remainder), a, b);
  return left_over(kRemainder, formulas().remainder_scalar, a, b);
}

// --- angles, interpolation ---

Tensor atan2(const Tensor& y, const Tensor& x) {
  require_floating(kAtan2.name, {&y, &x});
  Tensor angle = compute(formulas().atan2, shape_of(kAtan2.name, y, x), {&y, &x});
  const bool wants_y = needs_grad(y), wants_x = needs_grad(x);
  if (!wants_y && !wants_x) return angle;
  return record(kAtan2, angle, {y, x}, [wants_y, wants_x, y, x](const Tensor& dy) -> Grads {
    return {wants_y ? derive(formulas().atan2_grad, {&dy, &x, &y}) : Tensor(),
            wants_x ? -derive(formulas().atan2_grad, {&dy, &y, &x}) : Tensor()};
  });
}

Tensor lerp(const Tensor& a, const Tensor& b, const Tensor& weight) {
  require_floating(kLerp.name, {&a, &b, &weight});
  const Shape shape = broadcast(kLerp.name, shape_of(kLerp.name, a, b), weight.shape());
  Tensor y = compute(formulas().lerp, shape, {&a, &b, &weight});
  const bool wants_a = needs_grad(a), wants_b = needs_grad(b), wants_weight = needs_grad(weight);
  if (!wants_a && !wants_b && !wants_weight) return y;
  return record(kLerp, y, {a, b, weight},
                [wants_a, wants_b, a = kept_if(wants_weight, a), b = kept_if(wants_weight, b),
                 weight = kept_if(wants_a || wants_b, weight)](const Tensor& dy) -> Grads {
                  return {wants_a ? derive(formulas().lerp_grad_a, {&dy, &weight}) : Tensor(),
                          wants_b ? dy * weight : Tensor(), a.defined() ? dy * (b - a) : Tensor()};
                });
}

Tensor lerp(const Tensor& a, const Tensor& b, double weight) {
  require_floating(kLerp.name, {&a, &b});
  Tensor y = compute(formulas().lerp_scalar, shape_of(kLerp.name, a, b), {&a, &b}, {weight});
  return record(kLerp, y, {a, b},
                [weight, wants_a = needs_grad(a), wants_b = needs_grad(b)](const Tensor& dy) -> Grads {
                  return {wants_a ? dy * (1 - weight) : Tensor(), wants_b ? dy * weight : Tensor()};
                });
}

// --- for the engine and for fuse() ---

const ArithmeticFormulas& arithmetic_formulas_for(FormulasFor use) {
  return use == FormulasFor::symbols ? HWY_NAMESPACE::arithmetic_formulas() : formulas();
}

void accumulate_into(Tensor& sum, const Tensor& x) {
  require(sum.dtype() == x.dtype() && is_floating(sum.dtype()), kAdd,
          "expected a sum and an operand of one type, float32 or float64, got {} and {}", sum.dtype(), x.dtype());
  map(sum, {&sum, &x}, formulas().add.kernel(sum.dtype()));
}

}  // namespace tapegrad
#endif  // HWY_ONCE
