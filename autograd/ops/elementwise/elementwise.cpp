// Functions of one tensor: exponentials, roots, trigonometry, roundings, activations.
//
// A new function is a line of the table (its formula and its derivative), a line at the end of this file, a declaration
// in functions.h, and a line in checks/cases/elementwise/elementwise.cpp.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/elementwise/elementwise.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops/detail/formula_simd.h>
#include <tapegrad/autograd/ops/detail/fusible.h>

#include <limits>
#include <type_traits>

#ifndef TAPEGRAD_ELEMENTWISE_TYPES
#define TAPEGRAD_ELEMENTWISE_TYPES
namespace tapegrad {

struct NamedFunction {
  std::string_view name;
  Unary f;
};

inline constexpr double kTwoOverRootPi = 1.1283791670955126;  // 2 / sqrt(pi)
inline constexpr double kHalfRoot = 0.70710678118654752;      // 1 / sqrt(2)
inline constexpr double kNormal = 0.39894228040143268;        // 1 / sqrt(2 pi)
inline constexpr double kTwiceRoot = 1.59576912160573072;     // 2 sqrt(2 / pi)
inline constexpr double kCubic = 0.044715;
inline constexpr double kPi = 3.14159265358979324;
inline constexpr double kLn2 = 0.69314718055994531;
inline constexpr double kLn10 = 2.3025850929940457;
inline constexpr double kSeluScale = 1.0507009873554804934;
inline constexpr double kSeluBelow = 1.7580993408473768599;  // scale * alpha
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// A step function: its gradient is 0 everywhere.
constexpr Unary flat(auto value) { return {value_of<1>(value), {}, false}; }

// y, but in double P(X <= x), X standard normal, where x < -5: there 1 / 2 (1 + erf(x / sqrt(2))) has ten digits, then
// none.
template <class T>
HWY_INLINE Vec<T> with_tail(Vec<T> x, Vec<T> y) {
  if constexpr (!std::is_same_v<T, double>) {
    return y;
  } else {
    const Mask<T> far = x < -5;
    if (HWY_LIKELY(!any(far))) return y;
    // e^(-a^2 / 2) r(a) / a for 5 <= a <= 39, r within 3e-16, and the square in two doubles
    const Vec<T> a = max(Vec<T>(5), min(Vec<T>(39), -x)), square = a * a, rest = fma(a, a, -square);
    const Vec<T> r =
        math::poly(19.75 / (a + 3) - 1.47, 0.39537536540966167, -0.0060861224962779365, -0.00358363121443861,
                   -0.0009504182861825535, -0.00016365267211541212, -1.6385678866815386e-05, 3.223964536922562e-08,
                   2.786198574911716e-07, 2.6878680873188884e-08, -3.851971001554637e-09, -8.992113533387799e-10,
                   5.421255605265003e-11, 2.488044842572911e-11, -8.415735469505999e-13);
    const Vec<T> ratio = r / a;
    return where(far, fma(-0.5 * rest, ratio, ratio) * exp(-0.5 * square), y);
  }
}

// P(X <= x), X standard normal.
template <class T>
HWY_INLINE Vec<T> normal_cdf(Vec<T> x) {
  if constexpr (sizeof(T) == 4) {
    // 1 / 2 + x p(x^2) / q(x^2). x times it is within three units in the last place for x > 0, and within 1.5e-7 |x|
    // for x < 0; without fused multiply-adds it would be less accurate.
    const Vec<T> limit = 5.656854f;                                      // where it is exactly 0 and 1
    const Vec<T> c = max(-limit, min(limit, x)), z = c * c, zz = z * z;  // in this order NaN stays
    const auto poly = [&](T a0, T a1, T a2, T a3, T a4, T a5) HWY_ATTR {
      const Vec<T> low = math::poly(z, a0, a1), middle = math::poly(z, a2, a3), high = math::poly(z, a4, a5);
      return fma(zz, fma(zz, high, middle), low);
    };
    const Vec<T> p =
        poly(0.398942274f, 0.033692569f, 0.00466418085f, 0.000166723075f, 6.29402494e-06f, 2.26045589e-08f);
    const Vec<T> q = poly(1.0f, 0.251121112f, 0.028545668f, 0.00187289228f, 7.27396138e-05f, 1.18894755e-06f);
    return max(Vec<T>(0), fma(c, p / q, Vec<T>(T(0.5))));
  } else {
    return with_tail(x, T(0.5) * (1 + erf(x * T(kHalfRoot))));
  }
}
// With the tail of the kernel as a constant: the derivative of the sum with erf has all its digits there, too.
inline Tensor normal_cdf(const Tensor& x) {
  const Tensor y = 0.5 * (1 + erf(x * kHalfRoot));
  if (x.dtype() == kFloat32) return y;
  const Tensor at = maximum(x.detach(), -39);
  return y + where(at < -5, gelu(at) / at - y.detach(), 0);
}
inline Symbol normal_cdf(const Symbol& x) { return 0.5 * (1 + erf(x * kHalfRoot)); }

// d(sin(t) / t) / dt = cos(t) / t - sin(t) / t^2, where t is near 0 by its series, whose derivative is right at 0, too.
template <class X>
HWY_INLINE X sinc_slope(const X& t) {
  const auto near = abs(t) < 0.5;
  const auto low = where(near, t, 0), far = where(near, 1, t);
  const auto u = low * low;
  const auto high = u * (-1.0 / 3991680 + u * (1.0 / 518918400 + u * (-1.0 / 93405312000)));
  const auto series = low * (-1.0 / 3 + u * (1.0 / 30 + u * (-1.0 / 840 + u * (1.0 / 45360 + high))));
  return where(near, series, (cos(far) - sin(far) / far) / far);
}

constexpr NamedFunction kFunctions[] = {
    // --- exponentials, logarithms, powers ---
    {"exp", from_y([](auto x) { return exp(x); }, [](auto dy, auto y) { return dy * y; })},
    {"expm1", from_y([](auto x) { return expm1(x); }, [](auto dy, auto y) { return dy * (y + 1); })},
    {"exp2", from_y([](auto x) { return exp2(x); }, [](auto dy, auto y) { return dy * (kLn2 * y); })},
    {"log", from_x([](auto x) { return log(x); }, [](auto dy, auto x) { return dy / x; })},
    {"log1p", from_x([](auto x) { return log1p(x); }, [](auto dy, auto x) { return dy / (x + 1); })},
    {"log2", from_x([](auto x) { return log2(x); }, [](auto dy, auto x) { return dy / (x * kLn2); })},
    {"log10", from_x([](auto x) { return log10(x); }, [](auto dy, auto x) { return dy / (x * kLn10); })},
    {"square", light(from_x([](auto x) { return x * x; }, [](auto dy, auto x) { return dy * (2 * x); }))},
    {"reciprocal", from_y([](auto x) { return 1 / x; }, [](auto dy, auto y) { return -dy * (y * y); })},
    {"sqrt", from_y([](auto x) { return sqrt(x); }, [](auto dy, auto y) { return dy / (2 * y); })},
    {"rsqrt", from_y([](auto x) { return rsqrt(x); }, [](auto dy, auto y) { return -0.5 * dy * (y * y * y); })},
    {"abs", light(from_x([](auto x) { return abs(x); }, [](auto dy, auto x) { return dy * sign(x); }))},
    // --- steps ---
    {"sign", flat([](auto x) { return sign(x); })},
    {"floor", flat([](auto x) { return floor(x); })},
    {"ceil", flat([](auto x) { return ceil(x); })},
    {"round", flat([](auto x) { return round(x); })},
    {"trunc", flat([](auto x) { return trunc(x); })},
    // --- circular and hyperbolic functions ---
    {"sin", from_x([](auto x) { return sin(x); }, [](auto dy, auto x) { return dy * cos(x); })},
    {"cos", from_x([](auto x) { return cos(x); }, [](auto dy, auto x) { return -dy * sin(x); })},
    {"tan", from_y([](auto x) { return tan(x); }, [](auto dy, auto y) { return dy * (1 + y * y); })},
    {"asin", from_x([](auto x) { return asin(x); }, [](auto dy, auto x) { return dy * rsqrt((1 - x) * (1 + x)); })},
    {"acos", from_x([](auto x) { return acos(x); }, [](auto dy, auto x) { return -dy * rsqrt((1 - x) * (1 + x)); })},
    {"atan", from_x([](auto x) { return atan(x); }, [](auto dy, auto x) { return dy / (1 + x * x); })},
    {"sinh", from_x([](auto x) { return sinh(x); }, [](auto dy, auto x) { return dy * cosh(x); })},
    {"cosh", from_x([](auto x) { return cosh(x); }, [](auto dy, auto x) { return dy * sinh(x); })},
    // From 2^60 on, where squares may overflow, the derivative of both is 1 / |x|.
    {"asinh", from_x([](auto x) { return asinh(x); },
                     [](auto dy, auto x) {
                       const auto size = abs(x);
                       return dy * where(size < 0x1p60, rsqrt(x * x + 1), 1 / maximum(size, 1));
                     })},
    {"acosh",
     from_x([](auto x) { return acosh(x); },
            [](auto dy, auto x) { return dy * where(x < 0x1p60, rsqrt((x - 1) * (x + 1)), 1 / maximum(x, 1)); })},
    {"atanh", from_x([](auto x) { return atanh(x); }, [](auto dy, auto x) { return dy / ((1 - x) * (1 + x)); })},
    {"tanh", from_y([](auto x) { return tanh(x); }, [](auto dy, auto y) { return dy * (1 - y * y); })},
    {"erf",
     from_x([](auto x) { return erf(x); }, [](auto dy, auto x) { return dy * (kTwoOverRootPi * exp(-(x * x))); })},
    {"sinc", from_x(
                 [](auto x) {
                   const auto t = x * kPi;
                   return where(t == 0, 1, sin(t) / t);
                 },
                 [](auto dy, auto x) { return dy * (kPi * sinc_slope(x * kPi)); })},
    {"nan_to_num", from_x<3>(
                       [](auto x, auto nan, auto above, auto below) {
                         return where(x != x, nan, where(x == kInfinity, above, where(x == -kInfinity, below, x)));
                       },
                       [](auto dy, auto x, auto, auto, auto) { return where(abs(x) < kInfinity, dy, 0); })},
    // --- activations ---
    {"sigmoid", from_y([](auto x) { return sigmoid(x); }, [](auto dy, auto y) { return dy * (y * (1 - y)); })},
    // NaN is not <= 0: it stays, and passes the gradient. Of y, backward needs the sign alone.
    {"relu", activation(light(from_y([](auto x) { return where(x <= 0, 0, x); },
                                     [](auto dy, auto y) { return where(y <= 0, 0, dy); })))},
    {"silu", activation(from_x([](auto x) { return silu(x); },
                               [](auto dy, auto x) {
                                 const auto s = sigmoid(x);
                                 return dy * (s * (1 + x * (1 - s)));
                               }))},
    // x P(X <= x), X standard normal. Hendrycks, Gimpel 2016. exp(-800) is 0.
    {"gelu", activation(from_x([](auto x) { return x * normal_cdf(x); },
                               [](auto dy, auto x) {
                                 const auto density = kNormal * exp(-0.5 * minimum(x * x, 1600));
                                 return dy * (normal_cdf(x) + x * density);
                               }))},
    // 0.5 x (1 + tanh(u)) = x sigmoid(2u), which stays exact where tanh(u) is near -1. From |x| = 32 on it is 0 or x.
    {"gelu_tanh", activation(from_x([](auto x) { return x * sigmoid(kTwiceRoot * (x + kCubic * (x * x * x))); },
                                    [](auto dy, auto x) {
                                      const auto c = minimum(maximum(x, -32), 32);
                                      const auto s = sigmoid(kTwiceRoot * (c + kCubic * (c * c * c)));
                                      const auto inner = kTwiceRoot * (1 + 3 * kCubic * (c * c));
                                      return dy * (s + c * (s * (1 - s) * inner));
                                    }))},
    // log(x / (1 - x)). Near 1 the logarithm of this quotient loses digits: from 1/4 on, its distance to 1 is used, of
    // which 2x - 1 is exact.
    {"logit", from_x(
                  [](auto x) {
                    const auto odds = x / (1 - x), above = (2 * x - 1) / (1 - x);
                    return where(x < 0.25, log(odds), log1p(above));
                  },
                  [](auto dy, auto x) {
                    const auto d = x * (1 - x);
                    return dy / where(d < 0, kNotANumber, d);
                  })},
    {"log_sigmoid", from_x([](auto x) { return -softplus(-x); }, [](auto dy, auto x) { return dy * sigmoid(-x); })},
    {"softplus", from_x<2>([](auto x, auto beta,
                              auto threshold) { return where(x * beta > threshold, x, softplus(x * beta) / beta); },
                           [](auto dy, auto x, auto beta, auto threshold) {
                             return where(x * beta > threshold, dy, dy * sigmoid(x * beta));
                           })},
    // With e = exp(x): tanh(log(1 + e)) = n / (n + 2), n = e (e + 2). From 20 on it is 1.
    {"mish", from_x(
                 [](auto x) {
                   const auto e = exp(minimum(x, 20)), n = e * (e + 2);
                   return x * (n / (n + 2));
                 },
                 [](auto dy, auto x) {
                   const auto e = exp(minimum(x, 20)), n = e * (e + 2);
                   const auto t = n / (n + 2);
                   return dy * (t + x * (e / (1 + e) * (1 - t * t)));
                 })},
    {"leaky_relu", from_x<1>([](auto x, auto slope) { return where(x > 0, x, x * slope); },
                             [](auto dy, auto x, auto slope) { return where(x > 0, dy, dy * slope); })},
    // What the other branch multiplies by 0 must be finite: not exp(x) of a large x.
    {"elu",
     from_x<1>([](auto x, auto alpha) { return where(x > 0, x, alpha * expm1(x)); },
               [](auto dy, auto x, auto alpha) { return where(x > 0, dy, dy * (alpha * exp(where(x > 0, 0, x)))); })},
    {"selu", from_x([](auto x) { return where(x > 0, kSeluScale * x, kSeluBelow * expm1(x)); },
                    [](auto dy, auto x) {
                      return where(x > 0, dy * kSeluScale, dy * (kSeluBelow * exp(where(x > 0, 0, x))));
                    })},
    {"hardtanh",
     from_x<2>([](auto x, auto low, auto high) { return minimum(maximum(x, low), high); },
               [](auto dy, auto x, auto low, auto high) { return where(x > low, where(x < high, dy, 0), 0); })},
    {"hardsigmoid", from_x([](auto x) { return minimum(maximum(x + 3, 0), 6) / 6; },
                           [](auto dy, auto x) { return where(x > -3, where(x < 3, dy / 6, 0), 0); })},
    {"hardswish", from_x([](auto x) { return x * minimum(maximum(x + 3, 0), 6) / 6; },
                         [](auto dy, auto x) { return where(x <= -3, 0, where(x >= 3, dy, dy * (x / 3 + 0.5))); })},
    {"softsign", from_x([](auto x) { return x / (1 + abs(x)); },
                        [](auto dy, auto x) {
                          const auto d = 1 + abs(x);
                          return dy / (d * d);
                        })},
};

const NamedFunction* functions() { return kFunctions; }

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/tape_watch.h>

#include <iterator>
#include <optional>

namespace tapegrad {
namespace {

HWY_EXPORT(functions);

// A string as a template argument.
template <std::size_t N>
struct Name {
  consteval Name(const char (&s)[N]) { std::copy_n(s, N, text); }
  constexpr std::string_view view() const { return {text, N - 1}; }
  char text[N];
};

// The index of a function in the table; an unknown name does not compile.
template <Name kName>
consteval std::size_t place() {
  constexpr auto at = std::find_if(std::begin(HWY_NAMESPACE::kFunctions), std::end(HWY_NAMESPACE::kFunctions),
                                   [](const NamedFunction& function) { return function.name == kName.view(); });
  static_assert(at != std::end(HWY_NAMESPACE::kFunctions));
  return static_cast<std::size_t>(at - std::begin(HWY_NAMESPACE::kFunctions));
}

template <Name kName>
const ElementwiseOp kOp{kName.view()};

template <Name kName>
const Unary& function() {
  static const Unary& f = kernel_of(HWY_DISPATCH_TABLE(functions))()[place<kName>()].f;
  return f;
}

// y = f(x) as the operation kName; kForm is its formula, where it has several.
template <Name kName, Name kForm = kName>
Tensor apply(const Tensor& x, const Scalars& scalars = {}) {
  return unary(kOp<kName>, x, function<kForm>(), scalars);
}

// The same for a step function.
template <Name kName>
Tensor apply_flat(const Tensor& x) {
  require_floating(kOp<kName>.name, {&x});
  return record(kOp<kName>, compute(function<kName>().value, x.shape(), {&x}), {x},
                [](const Tensor& dy) -> Grads { return zeros_like(dy); });
}

// The same for a rounding function; integers are returned unchanged.
template <Name kName>
Tensor apply_rounding(const Tensor& x) {
  return is_integer(x.dtype()) ? x : apply_flat<kName>(x);
}

Tensor of_integers(const Tensor& x, MapKernel kernel) {
  const Tensor wide = x.to(kInt64), y = Tensor::empty(x.shape(), kInt64);
  map(y, {&wide}, kernel);
  return y.to(x.dtype());
}

}  // namespace

const Unary& function_named(std::string_view name, FormulasFor use) {
  const NamedFunction* const table =
      use == FormulasFor::symbols ? HWY_NAMESPACE::functions() : kernel_of(HWY_DISPATCH_TABLE(functions))();
  return std::find_if(table, table + std::size(HWY_NAMESPACE::kFunctions) - 1,
                      [name](const NamedFunction& function) { return function.name == name; })
      ->f;
}

Tensor exp(const Tensor& x) { return apply<"exp">(x); }
Tensor expm1(const Tensor& x) { return apply<"expm1">(x); }
Tensor log(const Tensor& x) { return apply<"log">(x); }
Tensor log1p(const Tensor& x) { return apply<"log1p">(x); }
Tensor exp2(const Tensor& x) { return apply<"exp2">(x); }
Tensor log2(const Tensor& x) { return apply<"log2">(x); }
Tensor log10(const Tensor& x) { return apply<"log10">(x); }
Tensor sqrt(const Tensor& x) { return apply<"sqrt">(x); }
Tensor rsqrt(const Tensor& x) { return apply<"rsqrt">(x); }
Tensor square(const Tensor& x) { return is_integer(x.dtype()) ? mul(x, x) : apply<"square">(x); }
Tensor reciprocal(const Tensor& x) { return apply<"reciprocal">(x); }
Tensor floor(const Tensor& x) { return apply_rounding<"floor">(x); }
Tensor ceil(const Tensor& x) { return apply_rounding<"ceil">(x); }
Tensor round(const Tensor& x) { return apply_rounding<"round">(x); }
Tensor trunc(const Tensor& x) { return apply_rounding<"trunc">(x); }
Tensor sin(const Tensor& x) { return apply<"sin">(x); }
Tensor cos(const Tensor& x) { return apply<"cos">(x); }
Tensor tan(const Tensor& x) { return apply<"tan">(x); }
Tensor asin(const Tensor& x) { return apply<"asin">(x); }
Tensor acos(const Tensor& x) { return apply<"acos">(x); }
Tensor atan(const Tensor& x) { return apply<"atan">(x); }
Tensor sinh(const Tensor& x) { return apply<"sinh">(x); }
Tensor cosh(const Tensor& x) { return apply<"cosh">(x); }
Tensor tanh(const Tensor& x) { return apply<"tanh">(x); }
Tensor asinh(const Tensor& x) { return apply<"asinh">(x); }
Tensor acosh(const Tensor& x) { return apply<"acosh">(x); }
Tensor atanh(const Tensor& x) { return apply<"atanh">(x); }
Tensor erf(const Tensor& x) { return apply<"erf">(x); }
Tensor sinc(const Tensor& x) { return apply<"sinc">(x); }
Tensor sigmoid(const Tensor& x) { return apply<"sigmoid">(x); }
Tensor logit(const Tensor& x) { return apply<"logit">(x); }
Tensor relu(const Tensor& x) { return apply<"relu">(x); }
Tensor silu(const Tensor& x) { return apply<"silu">(x); }
Tensor log_sigmoid(const Tensor& x) { return apply<"log_sigmoid">(x); }
Tensor mish(const Tensor& x) { return apply<"mish">(x); }
Tensor selu(const Tensor& x) { return apply<"selu">(x); }
Tensor softsign(const Tensor& x) { return apply<"softsign">(x); }
Tensor hardsigmoid(const Tensor& x) { return apply<"hardsigmoid">(x); }
Tensor hardswish(const Tensor& x) { return apply<"hardswish">(x); }
Tensor gelu(const Tensor& x, Gelu form) {
  return with_settings(form == Gelu::erf ? apply<"gelu">(x) : apply<"gelu", "gelu_tanh">(x), "form", form);
}

Tensor abs(const Tensor& x) {
  if (!is_integer(x.dtype())) return apply<"abs">(x);
  return of_integers(x, plain_loop<int64_t, int64_t, 1>(
                            [](int64_t v) { return v < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(v)) : v; }));
}

Tensor sign(const Tensor& x) {
  if (is_integer(x.dtype())) {
    return of_integers(
        x, plain_loop<int64_t, int64_t, 1>([](int64_t v) { return static_cast<int64_t>((v > 0) - (v < 0)); }));
  }
  return apply_flat<"sign">(x);
}

Tensor nan_to_num(const Tensor& x, double nan, std::optional<double> posinf, std::optional<double> neginf) {
  if (x.dtype() <= kInt64) return x;
  const double largest =
      x.dtype() == kFloat32 ? double{std::numeric_limits<float>::max()} : std::numeric_limits<double>::max();
  return apply<"nan_to_num">(x, {nan, posinf.value_or(largest), neginf.value_or(-largest)});
}

Tensor softplus(const Tensor& x, double beta, double threshold) { return apply<"softplus">(x, {beta, threshold}); }
Tensor leaky_relu(const Tensor& x, double negative_slope) { return apply<"leaky_relu">(x, {negative_slope}); }
Tensor elu(const Tensor& x, double alpha) { return apply<"elu">(x, {alpha}); }
Tensor relu6(const Tensor& x) { return hardtanh(x, 0, 6); }
Tensor hardtanh(const Tensor& x, double low, double high) {
  if (!(low <= high)) fail(kOp<"hardtanh">, "expected low <= high, got {} and {}", low, high);
  return apply<"hardtanh">(x, {low, high});
}

}  // namespace tapegrad
#endif  // HWY_ONCE
