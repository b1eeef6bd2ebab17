// Arithmetic: add, sub, mul, div, pow, neg, maximum, minimum, clamp, and the sum of gradients.
#include <tapegrad/autograd/kernels/simd_targets.h>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/arithmetic.cpp"
#include <hwy/foreach_target.h>
#include <tapegrad/autograd/ops/formula_simd.h>

#ifndef TAPEGRAD_ARITHMETIC_FORMULAS
#define TAPEGRAD_ARITHMETIC_FORMULAS
namespace tapegrad {

struct ArithmeticFormulas {
  Formula add, sub, mul, div, pow, maximum, minimum, neg;
  Formula add_number, mul_number, div_number, from_number, maximum_number, minimum_number;
  Formula d_divisor, d_base, d_exponent, d_maximum, d_minimum;
  Unary number_over, clamp, power, square, cube, root, reciprocal, reciprocal_root;
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

const ArithmeticFormulas& arithmetic_formulas() {
  static constexpr ArithmeticFormulas formulas = {
      .add = value_of<2>([](auto a, auto b) { return a + b; }),
      .sub = value_of<2>([](auto a, auto b) { return a - b; }),
      .mul = value_of<2>([](auto a, auto b) { return a * b; }),
      .div = value_of<2>([](auto a, auto b) { return a / b; }),
      .pow = value_of<2>([](auto a, auto b) { return pow(a, b); }),
      .maximum = value_of<2>([](auto a, auto b) { return maximum(a, b); }),
      .minimum = value_of<2>([](auto a, auto b) { return minimum(a, b); }),
      .neg = value_of<1>([](auto x) { return -x; }),

      .add_number = value_of<1, 1>([](auto x, auto s) { return x + s; }),
      .mul_number = value_of<1, 1>([](auto x, auto s) { return x * s; }),
      .div_number = value_of<1, 1>([](auto x, auto s) { return x / s; }),
      .from_number = value_of<1, 1>([](auto x, auto s) { return s - x; }),
      .maximum_number = value_of<1, 1>([](auto x, auto s) { return maximum(x, s); }),
      .minimum_number = value_of<1, 1>([](auto x, auto s) { return minimum(x, s); }),

      .d_divisor = derivative_of<3>([](auto dy, auto a, auto b) { return -dy * (a / b / b); }),
      .d_base = derivative_of<3>([](auto dy, auto a, auto b) { return where(b == 0, 0, dy * (b * pow(a, b - 1))); }),
      // y = a^b. At a = 0 the logarithm is no use: the power stays 0 (or 1) for every b >= 0.
      .d_exponent = derivative_of<4>([](auto dy, auto a, auto b, auto y) {
        return where(a == 0, where(b >= 0, 0, dy * (y * log(a))), dy * (y * log(a)));
      }),
      // The share of a; that of b with a and b exchanged. NaN on either side: dy for both.
      .d_maximum =
          derivative_of<3>([](auto dy, auto a, auto b) { return where(a < b, 0, where(a == b, dy * 0.5, dy)); }),
      .d_minimum =
          derivative_of<3>([](auto dy, auto a, auto b) { return where(a > b, 0, where(a == b, dy * 0.5, dy)); }),

      .number_over =
          from_x<1>([](auto x, auto s) { return s / x; }, [](auto dy, auto x, auto s) { return -dy * (s / x / x); }),
      .clamp =
          from_x<2>([](auto x, auto low, auto high) { return minimum(maximum(x, low), high); },
                    [](auto dy, auto x, auto low, auto high) { return where(x >= low, where(x <= high, dy, 0), 0); }),
      .power = from_x<1>([](auto x, auto s) { return pow(x, s); },
                         [](auto dy, auto x, auto s) { return dy * (s * pow(x, s - 1)); }),
      .square = from_x([](auto x) { return x * x; }, [](auto dy, auto x) { return dy * (2 * x); }),
      .cube = from_x([](auto x) { return x * x * x; }, [](auto dy, auto x) { return dy * (3 * (x * x)); }),
      .root = from_y([](auto x) { return sqrt(x); }, [](auto dy, auto y) { return dy / (2 * y); }),
      .reciprocal = from_y([](auto x) { return 1 / x; }, [](auto dy, auto y) { return -dy * (y * y); }),
      .reciprocal_root =
          from_y([](auto x) { return rsqrt(x); }, [](auto dy, auto y) { return -0.5 * dy * (y * y * y); }),
  };
  return formulas;
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tapegrad {
namespace {

HWY_EXPORT(arithmetic_formulas);

const ArithmeticFormulas& formulas() {
  static const ArithmeticFormulas& chosen = HWY_DYNAMIC_DISPATCH(arithmetic_formulas)();
  return chosen;
}

const Op kAdd{"add"};
const Op kSub{"sub"};
const Op kMul{"mul"};
const Op kDiv{"div"};
const Op kPow{"pow"};
const Op kNeg{"neg"};
const Op kMaximum{"maximum"};
const Op kMinimum{"minimum"};
const Op kClamp{"clamp"};

// How an operation treats integers and truth values. A null kernel for bool: they become int64.
struct IntegerLoops {
  MapKernel int64;
  MapKernel boolean;
};

// Integers wrap around, so they are added and multiplied without a sign.
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

// Calls the operation again, on operands of the later of their two types.
Tensor promoted(Tensor (*operation)(const Tensor&, const Tensor&), const Tensor& a, const Tensor& b) {
  const DType dtype = std::max(a.dtype(), b.dtype());
  return operation(a.to(dtype), b.to(dtype));
}

Tensor binary_value(const Op& op, const Formula& formula, const IntegerLoops& loops, const Tensor& a, const Tensor& b) {
  if (is_floating(a.dtype())) {
    return a.shape() == b.shape() ? compute(formula, a.shape(), {&a, &b})
                                  : compute(formula, broadcast(op.name, a.shape(), b.shape()), {&a, &b});
  }
  const Shape shape = shape_of(op.name, a, b);
  const MapKernel kernel = a.dtype() == kBool ? loops.boolean : loops.int64;
  if (!kernel) op.fail("bool operands have no such operation (convert one by to(kInt64), or use logical_xor)");
  Tensor y = Tensor::empty(shape, a.dtype());
  map(y, {&a, &b}, kernel);
  return y;
}

}  // namespace

// --- two tensors ---

Tensor add(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype()) return promoted(add, a, b);
  return record(kAdd, binary_value(kAdd, formulas().add, kAddLoops, a, b), {a, b}, [](const Tensor& dy) -> Grads {
    return {dy, dy};
  });
}

Tensor sub(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype()) return promoted(sub, a, b);
  Tensor y = binary_value(kSub, formulas().sub, kSubLoops, a, b);
  return record(kSub, y, {a, b}, [needed = needs_grad(b)](const Tensor& dy) -> Grads {
    return {dy, needed ? -dy : Tensor()};
  });
}

Tensor mul(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype()) return promoted(mul, a, b);
  Tensor y = binary_value(kMul, formulas().mul, kMulLoops, a, b);
  const bool da = needs_grad(a), db = needs_grad(b);
  if (!da && !db) return y;
  return record(kMul, std::move(y), {a, b}, [a = db ? a : Tensor(), b = da ? b : Tensor()](const Tensor& dy) -> Grads {
    return {b.defined() ? dy * b : Tensor(), a.defined() ? dy * a : Tensor()};
  });
}

Tensor div(const Tensor& a, const Tensor& b) {
  if (!is_floating(a.dtype()) && !is_floating(b.dtype())) return div(a.to(kFloat32), b.to(kFloat32));
  if (a.dtype() != b.dtype()) return promoted(div, a, b);
  Tensor y = compute(formulas().div, shape_of(kDiv.name, a, b), {&a, &b});
  const bool da = needs_grad(a), db = needs_grad(b);
  if (!da && !db) return y;
  return record(kDiv, y, {a, b}, [da, a = db ? a : Tensor(), b](const Tensor& dy) -> Grads {
    return {da ? dy / b : Tensor(), a.defined() ? derive(formulas().d_divisor, {&dy, &a, &b}) : Tensor()};
  });
}

Tensor pow(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype()) return promoted(pow, a, b);
  if (a.dtype() == kBool) return pow(a.to(kInt64), b.to(kInt64));
  if (a.dtype() == kInt64 && any(lt(b, 0))) {
    kPow.fail("an integer to a negative power is no integer (convert the base by to(kFloat32))");
  }
  Tensor y = binary_value(kPow, formulas().pow, kPowLoops, a, b);
  const bool da = needs_grad(a), db = needs_grad(b);
  if (!da && !db) return y;
  return record(kPow, y, {a, b}, [da, a, b, y = db ? y : Tensor()](const Tensor& dy) -> Grads {
    return {da ? derive(formulas().d_base, {&dy, &a, &b}) : Tensor(),
            y.defined() ? derive(formulas().d_exponent, {&dy, &a, &b, &y}) : Tensor()};
  });
}

namespace {

Tensor extreme(const Op& op, const Formula& value, const Formula& gradient, const IntegerLoops& loops, const Tensor& a,
               const Tensor& b) {
  Tensor y = binary_value(op, value, loops, a, b);
  const bool da = needs_grad(a), db = needs_grad(b);
  if (!da && !db) return y;
  return record(op, y, {a, b}, [&gradient, da, db, a, b](const Tensor& dy) -> Grads {
    return {da ? derive(gradient, {&dy, &a, &b}) : Tensor(), db ? derive(gradient, {&dy, &b, &a}) : Tensor()};
  });
}

}  // namespace

Tensor maximum(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype()) return promoted(maximum, a, b);
  return extreme(kMaximum, formulas().maximum, formulas().d_maximum, kMaximumLoops, a, b);
}

Tensor minimum(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype()) return promoted(minimum, a, b);
  return extreme(kMinimum, formulas().minimum, formulas().d_minimum, kMinimumLoops, a, b);
}

// --- a tensor and a number: a floating tensor keeps its type ---

Tensor add(const Tensor& a, double b) {
  if (!is_floating(a.dtype())) return add(a, beside_integers(b));
  return record(kAdd, compute(formulas().add_number, a.shape(), {&a}, {b}), {a},
                [](const Tensor& dy) -> Grads { return dy; });
}

Tensor sub(const Tensor& a, double b) {
  if (!is_floating(a.dtype())) return sub(a, beside_integers(b));
  return record(kSub, compute(formulas().add_number, a.shape(), {&a}, {-b}), {a},
                [](const Tensor& dy) -> Grads { return dy; });
}

Tensor sub(double a, const Tensor& b) {
  if (!is_floating(b.dtype())) return sub(beside_integers(a), b);
  return record(kSub, compute(formulas().from_number, b.shape(), {&b}, {a}), {b},
                [](const Tensor& dy) -> Grads { return -dy; });
}

Tensor mul(const Tensor& a, double b) {
  if (!is_floating(a.dtype())) return mul(a, beside_integers(b));
  return record(kMul, compute(formulas().mul_number, a.shape(), {&a}, {b}), {a},
                [b](const Tensor& dy) -> Grads { return dy * b; });
}

Tensor div(const Tensor& a, double b) {
  if (!is_floating(a.dtype())) return div(a.to(kFloat32), b);
  return record(kDiv, compute(formulas().div_number, a.shape(), {&a}, {b}), {a},
                [b](const Tensor& dy) -> Grads { return dy / b; });
}

Tensor div(double a, const Tensor& b) {
  return unary(kDiv, is_floating(b.dtype()) ? b : b.to(kFloat32), formulas().number_over, {a});
}

Tensor pow(const Tensor& a, double exponent) {
  if (!is_floating(a.dtype())) return pow(a, beside_integers(exponent));
  const ArithmeticFormulas& f = formulas();
  if (exponent == 2) return unary(kPow, a, f.square);
  if (exponent == 3) return unary(kPow, a, f.cube);
  if (exponent == 0.5) return unary(kPow, a, f.root);
  if (exponent == -0.5) return unary(kPow, a, f.reciprocal_root);
  if (exponent == -1) return unary(kPow, a, f.reciprocal);
  if (exponent == 1) return mul(a, 1);
  if (exponent == 0) {
    return record(kPow, ones_like(a), {a}, [](const Tensor& dy) -> Grads { return zeros_like(dy); });
  }
  return unary(kPow, a, f.power, {exponent});
}

Tensor neg(const Tensor& x) {
  if (x.dtype() == kBool) kNeg.fail("a bool tensor has no negative (use logical_not)");
  if (x.dtype() == kInt64) return sub(scalar(0, kInt64), x);
  return record(kNeg, compute(formulas().neg, x.shape(), {&x}), {x}, [](const Tensor& dy) -> Grads { return -dy; });
}

namespace {

Tensor extreme(const Op& op, const Formula& value, const Formula& gradient, const Tensor& a, double b) {
  Tensor y = compute(value, a.shape(), {&a}, {b});
  if (!needs_grad(a)) return y;
  return record(op, y, {a}, [&gradient, a, b](const Tensor& dy) -> Grads {
    const Tensor bound = scalar(b, a.dtype());
    return derive(gradient, {&dy, &a, &bound});
  });
}

}  // namespace

Tensor maximum(const Tensor& a, double b) {
  if (!is_floating(a.dtype())) return maximum(a, beside_integers(b));
  return extreme(kMaximum, formulas().maximum_number, formulas().d_maximum, a, b);
}

Tensor minimum(const Tensor& a, double b) {
  if (!is_floating(a.dtype())) return minimum(a, beside_integers(b));
  return extreme(kMinimum, formulas().minimum_number, formulas().d_minimum, a, b);
}

Tensor clamp(const Tensor& x, std::optional<double> low, std::optional<double> high) {
  if (!low && !high) kClamp.fail("needs a lower bound, an upper bound or both");
  if (!is_floating(x.dtype())) {
    const Tensor above = low ? maximum(x, *low) : x;
    return high ? minimum(above, *high) : above;
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return unary(kClamp, x, formulas().clamp, {low.value_or(-kInfinity), high.value_or(kInfinity)});
}

// --- for the engine ---

void accumulate_into(Tensor& sum, const Tensor& x) {
  if (sum.dtype() != x.dtype() || !is_floating(sum.dtype())) {
    kAdd.fail(fmt::format("a sum of {} does not take in {}", name(sum.dtype()), name(x.dtype())));
  }
  map(sum, {&sum, &x}, formulas().add.kernel(sum.dtype()));
}

}  // namespace tapegrad
#endif  // HWY_ONCE
