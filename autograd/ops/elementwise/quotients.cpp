// Quotients that are rounded to whole numbers: div with Rounding, floor_divide.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/elementwise/quotients.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops/detail/formula_simd.h>

#if defined(TAPEGRAD_AUTOGRAD_QUOTIENT_FORMULAS) == 0
#define TAPEGRAD_AUTOGRAD_QUOTIENT_FORMULAS
namespace tapegrad {
struct QuotientFormulas {
  Formula floored, truncated;
};
}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

const QuotientFormulas& quotient_formulas() {
  static constexpr QuotientFormulas formulas = {
      // From the remainder, which is exact: a / b may round up to the next integer, as 5.5 / 1.1 does.
      .floored = value_of<2>([](auto a, auto b) {
        const auto left = fmod(a, b), near = (a - left) / b;
        const auto quotient = where((left != 0) & ((b < 0) ^ (left < 0)), near - 1, near), whole = floor(quotient);
        const auto rounded = where(quotient - whole > 0.5, whole + 1, whole);
        return where(b == 0, a / b, where(quotient == 0, copysign(decltype(a)(0), a / b), rounded));
      }),
      .truncated = value_of<2>([](auto a, auto b) { return trunc(a / b); }),
  };
  return formulas;
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {
namespace {

HWY_EXPORT(quotient_formulas);

const ElementwiseOp kDivRounded{"div_rounded"};

int64_t truncated(int64_t a, int64_t b) {  // the smallest number divided by -1 would trap
  return b == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(a)) : a / b;
}

int64_t floored(int64_t a, int64_t b) {
  const int64_t quotient = truncated(a, b);
  return b != -1 && a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

MapKernel integer_loop(Rounding rounding) {
  return rounding == Rounding::floor
             ? plain_loop<int64_t, int64_t, 2>([](int64_t a, int64_t b) { return floored(a, b); })
             : plain_loop<int64_t, int64_t, 2>([](int64_t a, int64_t b) { return truncated(a, b); });
}

}  // namespace

Tensor div(const Tensor& a, const Tensor& b, Rounding rounding) {
  if (rounding == Rounding::none) return div(a, b);
  if (needs_promotion(a, b)) {
    return promote([rounding](const Tensor& x, const Tensor& y) { return div(x, y, rounding); }, a, b);
  }
  if (a.dtype() == kBool) kDivRounded.fail("expected operands other than bool (convert one with to(kInt64))");
  if (a.dtype() == kInt64 && any(eq(b, 0))) kDivRounded.fail("expected nonzero int64 divisors, got a zero");
  const QuotientFormulas& formulas = chosen<HWY_DISPATCH_TABLE(quotient_formulas)>();
  const Formula& formula = rounding == Rounding::floor ? formulas.floored : formulas.truncated;
  Tensor y = Tensor::empty(shape_of(kDivRounded.name, a, b), a.dtype());
  map(y, {&a, &b}, a.dtype() == kInt64 ? integer_loop(rounding) : formula.kernel(a.dtype()), {}, formula.work);
  return record(kDivRounded, y, {a, b}, [](const Tensor& dy) -> Grads {
    const Tensor zero = zeros_like(dy);
    return {zero, zero};
  });
}

Tensor div(const Tensor& a, Scalar b, Rounding rounding) {
  if (is_floating(a.dtype())) return div(a, scalar(b, a.dtype()), rounding);
  return with_number([rounding](const Tensor& x, const Tensor& number) { return div(x, number, rounding); }, a, b);
}

Tensor floor_divide(const Tensor& a, const Tensor& b) { return div(a, b, Rounding::floor); }
Tensor floor_divide(const Tensor& a, Scalar b) { return div(a, b, Rounding::floor); }

}  // namespace tapegrad
#endif  // HWY_ONCE
