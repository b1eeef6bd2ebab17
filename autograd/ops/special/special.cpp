// Special functions as operations: a table of their formulas and derivatives. The values are those of
// detail/numbers.h, one element at a time, and in float32 mostly those of the kernels of detail/float_kernels.h.
//
// build: -Os
#include <tapegrad/autograd/special.h>

#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/formula.h>
#include <tapegrad/autograd/ops/special/detail/float_kernels.h>
#include <tapegrad/autograd/ops/special/detail/numbers.h>
#include <tapegrad/autograd/tape.h>

namespace tapegrad {
namespace {

// A function of one tensor, and its derivative made of operations: dx from dy, x and y.
struct Special {
  MapKernel special::FloatKernels::*float32;
  MapKernel float64;
  Tensor (*gradient)(const Tensor& dy, const Tensor& x, const Tensor& y);

  Formula value() const { return {special::float_kernels().*float32, float64}; }
};

// One function, in float64.
constexpr MapKernel elements(auto f) { return plain_loop<double, double, 1>(f); }
constexpr double kErfinvSlope = 0.88622692545275801;  // sqrt(pi) / 2
constexpr double kErfSlope = 1.1283791670955126;      // 2 / sqrt(pi)

constexpr Special kLgammaOf{&special::FloatKernels::lgamma, elements([](double x) { return special::lgamma(x); }),
                            [](const Tensor& dy, const Tensor& x, const Tensor&) { return dy * digamma(x); }};
constexpr Special kDigammaOf{&special::FloatKernels::digamma, elements([](double x) { return special::digamma(x); }),
                             [](const Tensor& dy, const Tensor& x, const Tensor&) { return dy * polygamma(1, x); }};
constexpr Special kErfcOf{
    &special::FloatKernels::erfc, elements([](double x) { return special::erfc(x); }),
    [](const Tensor& dy, const Tensor& x, const Tensor&) { return dy * (-kErfSlope * exp(-square(x))); }};
constexpr Special kErfinvOf{
    &special::FloatKernels::erfinv, elements([](double y) { return special::erfinv(y); }),
    [](const Tensor& dy, const Tensor&, const Tensor& y) { return dy * (kErfinvSlope * exp(square(y))); }};

// y / x, which is 1/2 at 0, where y is i1(x) or e^-|x| i1(x). Where it is recorded, the derivatives near 0 are those of
// the series of i1, in which nothing cancels.
Tensor over_x(const Tensor& y, const Tensor& x, bool scaled = false) {
  const Tensor quotient = where(eq(x, 0), 0.5, y / where(eq(x, 0), 1., x));
  if (!Tape::current()) return quotient;
  const Tensor near = lt(abs(x), 0.5), inside = where(near, x, 0.), u = square(inside);
  Tensor series = zeros_like(x);
  double factor = 1 / 6658877030400.0;  // 1 / (2 4^k k! (k + 1)!) for k = 7
  for (int k = 7; k >= 0; factor *= 4.0 * k * (k + 1), --k) series = series * u + factor;
  if (scaled) series = series * exp(-abs(inside));
  return where(near, quotient.detach() + (series - series.detach()), y / where(near, 1., x));
}

constexpr Special kI0Of{&special::FloatKernels::i0, elements([](double x) { return special::i0(x); }),
                        [](const Tensor& dy, const Tensor& x, const Tensor&) { return dy * i1(x); }};
constexpr Special kI1Of{&special::FloatKernels::i1, elements([](double x) { return special::i1(x); }),
                        [](const Tensor& dy, const Tensor& x, const Tensor& y) { return dy * (i0(x) - over_x(y, x)); }};
constexpr Special kI0eOf{
    &special::FloatKernels::i0e, elements([](double x) { return special::i0e(x); }),
    [](const Tensor& dy, const Tensor& x, const Tensor& y) { return dy * (i1e(x) - sign(x) * y); }};
constexpr Special kI1eOf{&special::FloatKernels::i1e, elements([](double x) { return special::i1e(x); }),
                         [](const Tensor& dy, const Tensor& x, const Tensor& y) {
                           return dy * (i0e(x) - sign(x) * y - over_x(y, x, true));
                         }};

// A function of two tensors.
struct Pair {
  MapKernel special::GammaKernels::*float32;
  MapKernel float64;

  Formula value() const { return {special::gamma_kernels().*float32, float64}; }
};
constexpr MapKernel pairs(auto f) { return plain_loop<double, double, 2>(f); }
constexpr Pair kIgammaOf{&special::GammaKernels::igamma,
                         pairs([](double a, double x) { return special::igamma(a, x); })};
constexpr Pair kIgammacOf{&special::GammaKernels::igammac,
                          pairs([](double a, double x) { return special::igammac(a, x); })};
constexpr Pair kSlopeOf{&special::GammaKernels::slope,
                        pairs([](double a, double x) { return special::gamma_slope(a, x); })};
constexpr Pair kDensityOf{&special::GammaKernels::density,
                          pairs([](double a, double x) { return special::gamma_density(a, x); })};

const ElementwiseOp kLgamma{"lgamma"};
const ElementwiseOp kDigamma{"digamma"};
const ElementwiseOp kPolygamma{"polygamma"};
const ElementwiseOp kErfc{"erfc"};
const ElementwiseOp kErfinv{"erfinv"};
const ElementwiseOp kI0{"i0"};
const ElementwiseOp kI1{"i1"};
const ElementwiseOp kI0e{"i0e"};
const ElementwiseOp kI1e{"i1e"};
const ElementwiseOp kIgamma{"igamma"};
const ElementwiseOp kIgammac{"igammac"};
const ElementwiseOp kGammaDensity{"gamma_density"};
const Op kImplicitGamma{"implicit_gamma", OpTraits{.twice = false, .tangent = TangentRule::written}};

Tensor apply_special(const Op& op, const Special& of, const Tensor& x) {
  require_floating(op.name, {&x});
  const Tensor y = compute(of.value(), x.shape(), {&x});
  if (!needs_grad(x)) return y;
  return record(op, y, {x}, [&of, x, y](const Tensor& dy) -> Grads { return of.gradient(dy, x, y); });
}

Tensor incomplete_gamma(const Op& op, const Pair& of, double sign, const Tensor& a, const Tensor& x) {
  require_floating(op.name, {&a, &x});
  if (needs_grad(a)) op.fail("expected a first argument without a gradient, which is not implemented (a.detach())");
  const Tensor y = compute(of.value(), shape_of(op.name, a, x), {&a, &x});
  if (!needs_grad(x)) return y;
  return record(op, y, {a, x}, [sign, a, x](const Tensor& dy) -> Grads {
    return {Tensor(), dy * (sign * gamma_density(a, x))};
  });
}

}  // namespace

Tensor lgamma(const Tensor& x) { return apply_special(kLgamma, kLgammaOf, x); }
Tensor digamma(const Tensor& x) { return apply_special(kDigamma, kDigammaOf, x); }
Tensor erfc(const Tensor& x) { return apply_special(kErfc, kErfcOf, x); }
Tensor erfinv(const Tensor& y) { return apply_special(kErfinv, kErfinvOf, y); }
Tensor i0(const Tensor& x) { return apply_special(kI0, kI0Of, x); }
Tensor i1(const Tensor& x) { return apply_special(kI1, kI1Of, x); }
Tensor i0e(const Tensor& x) { return apply_special(kI0e, kI0eOf, x); }
Tensor i1e(const Tensor& x) { return apply_special(kI1e, kI1eOf, x); }

Tensor polygamma(int64_t n, const Tensor& x) {
  require_floating(kPolygamma.name, {&x});
  require(n >= 0 && n <= special::kLargestOrder, kPolygamma, "expected 0 <= n <= {}, got {}", special::kLargestOrder,
          n);
  if (n == 0) return digamma(x);
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  const auto loop = []<class T>(T) -> MapKernel {
    return [](const void* const* in, void* out, int64_t count, const void* order) {
      const T* const from = static_cast<const T*>(in[0]);
      T* const to = static_cast<T*>(out);
      for (int64_t i = 0; i < count; ++i) to[i] = special::polygamma(*static_cast<const int64_t*>(order), from[i]);
    };
  };
  const bool is_float = x.dtype() == kFloat32;
  map(y, {&x}, is_float && n == 1 ? special::gamma_kernels().trigamma : is_float ? loop(float()) : loop(double()), &n);
  if (!needs_grad(x)) return y;
  return record(kPolygamma, y, {x}, [n, x](const Tensor& dy) -> Grads { return dy * polygamma(n + 1, x); });
}

Tensor igamma(const Tensor& a, const Tensor& x) { return incomplete_gamma(kIgamma, kIgammaOf, 1, a, x); }
Tensor igammac(const Tensor& a, const Tensor& x) { return incomplete_gamma(kIgammac, kIgammacOf, -1, a, x); }

Tensor gamma_density(const Tensor& a, const Tensor& x) {
  require_floating(kGammaDensity.name, {&a, &x});
  const Tensor y = compute(kDensityOf.value(), shape_of(kGammaDensity.name, a, x), {&a, &x});
  const bool wants_a = needs_grad(a), wants_x = needs_grad(x);
  if (!wants_a && !wants_x) return y;
  return record(kGammaDensity, y, {a, x}, [wants_a, wants_x, a, x, y](const Tensor& dy) -> Grads {
    return {wants_a ? dy * (y * (log(x) - digamma(a))) : Tensor(), wants_x ? dy * (y * ((a - 1) / x - 1)) : Tensor()};
  });
}

Tensor implicit_gamma(const Tensor& a, const Tensor& x) {
  const bool of_float = a.dtype() == kFloat32 && x.dtype() == kFloat64;
  if (!of_float) require_floating(kImplicitGamma.name, {&a, &x});
  const Shape shape = shape_of(kImplicitGamma.name, a, x);
  const Tensor y = x.detach().expand(shape).clone();
  if (!needs_grad(a)) return y;
  return record(kImplicitGamma, y, {a}, [of_float, shape, a, y](const Tensor& dy, const BackwardPass& pass) -> Grads {
    const Tensor factor = pass.is_forward() ? pass.tangents[0].to(y.dtype()) : dy;
    if (!of_float) return factor * compute(kSlopeOf.value(), shape, {&a, &y});
    const Tensor wide = a.detach().to(kFloat64);
    const Tensor product = factor * compute({nullptr, special::gamma_kernels().slope_of_doubles}, shape, {&wide, &y});
    return pass.is_forward() ? product : product.to(kFloat32);
  });
}

}  // namespace tapegrad
