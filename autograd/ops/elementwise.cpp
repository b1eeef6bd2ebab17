// Functions of one tensor: exponentials, roots, trigonometry, activations.
//
// A new function is a line of the table (its formula and its derivative), a line at the end of this file, a declaration
// in ops.h, and a sample in tasks/gradcheck/op_samples_elementwise.cpp.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/elementwise.cpp"
#include <tapegrad/autograd/kernels/simd_targets.h>

#include <tapegrad/autograd/ops/formula_simd.h>
#include <tapegrad/autograd/ops/kernel.h>

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

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

constexpr NamedFunction kFunctions[] = {
    {"exp", from_y([](auto x) { return exp(x); }, [](auto dy, auto y) { return dy * y; })},
    {"expm1", from_y([](auto x) { return expm1(x); }, [](auto dy, auto y) { return dy * (y + 1); })},
    {"log", from_x([](auto x) { return log(x); }, [](auto dy, auto x) { return dy / x; })},
    {"log1p", from_x([](auto x) { return log1p(x); }, [](auto dy, auto x) { return dy / (x + 1); })},
    {"sqrt", from_y([](auto x) { return sqrt(x); }, [](auto dy, auto y) { return dy / (2 * y); })},
    {"rsqrt", from_y([](auto x) { return rsqrt(x); }, [](auto dy, auto y) { return -0.5 * dy * (y * y * y); })},
    {"abs", from_x([](auto x) { return abs(x); }, [](auto dy, auto x) { return dy * sign(x); })},
    {"sign", {value_of<1>([](auto x) { return sign(x); }), {}, false}},
    {"sin", from_x([](auto x) { return sin(x); }, [](auto dy, auto x) { return dy * cos(x); })},
    {"cos", from_x([](auto x) { return cos(x); }, [](auto dy, auto x) { return -dy * sin(x); })},
    {"tanh", from_y([](auto x) { return tanh(x); }, [](auto dy, auto y) { return dy * (1 - y * y); })},
    {"erf",
     from_x([](auto x) { return erf(x); }, [](auto dy, auto x) { return dy * (kTwoOverRootPi * exp(-(x * x))); })},
    {"sigmoid", from_y([](auto x) { return sigmoid(x); }, [](auto dy, auto y) { return dy * (y * (1 - y)); })},
    // NaN is not <= 0: it stays, and passes the gradient.
    {"relu", from_y([](auto x) { return where(x <= 0, 0, x); }, [](auto dy, auto y) { return where(y <= 0, 0, dy); })},
    {"silu", from_x([](auto x) { return silu(x); },
                    [](auto dy, auto x) {
                      const auto s = sigmoid(x);
                      return dy * (s * (1 + x * (1 - s)));
                    })},
    // x P(X <= x), X standard normal. Hendrycks, Gimpel 2016.
    {"gelu", from_x([](auto x) { return x * 0.5 * (1 + erf(x * kHalfRoot)); },
                    [](auto dy, auto x) {
                      const auto below = 0.5 * (1 + erf(x * kHalfRoot));
                      return dy * (below + x * (kNormal * exp(-0.5 * (x * x))));
                    })},
    // 0.5 x (1 + tanh(u)) = x sigmoid(2u), which stays exact where tanh(u) is near -1.
    {"gelu_tanh", from_x([](auto x) { return x * sigmoid(kTwiceRoot * (x + kCubic * (x * x * x))); },
                         [](auto dy, auto x) {
                           const auto s = sigmoid(kTwiceRoot * (x + kCubic * (x * x * x)));
                           const auto inner = kTwiceRoot * (1 + 3 * kCubic * (x * x));
                           return dy * (s + x * (s * (1 - s) * inner));
                         })},
};

const NamedFunction* functions() { return kFunctions; }

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <iterator>

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
const Op kOp{kName.view()};

template <Name kName>
const Unary& function() {
  static const Unary& f = kernel_of(HWY_DISPATCH_TABLE(functions))()[place<kName>()].f;
  return f;
}

// y = f(x) as the operation kName; kForm is its formula, where it has several.
template <Name kName, Name kForm = kName>
Tensor apply(const Tensor& x) {
  return unary(kOp<kName>, x, function<kForm>());
}

Tensor of_integers(const Tensor& x, MapKernel kernel) {
  Tensor y = Tensor::empty(x.shape(), kInt64);
  map(y, {&x}, kernel);
  return y;
}

}  // namespace

Tensor exp(const Tensor& x) { return apply<"exp">(x); }
Tensor expm1(const Tensor& x) { return apply<"expm1">(x); }
Tensor log(const Tensor& x) { return apply<"log">(x); }
Tensor log1p(const Tensor& x) { return apply<"log1p">(x); }
Tensor sqrt(const Tensor& x) { return apply<"sqrt">(x); }
Tensor rsqrt(const Tensor& x) { return apply<"rsqrt">(x); }
Tensor sin(const Tensor& x) { return apply<"sin">(x); }
Tensor cos(const Tensor& x) { return apply<"cos">(x); }
Tensor tanh(const Tensor& x) { return apply<"tanh">(x); }
Tensor erf(const Tensor& x) { return apply<"erf">(x); }
Tensor sigmoid(const Tensor& x) { return apply<"sigmoid">(x); }
Tensor relu(const Tensor& x) { return apply<"relu">(x); }
Tensor silu(const Tensor& x) { return apply<"silu">(x); }
Tensor gelu(const Tensor& x, Gelu form) { return form == Gelu::erf ? apply<"gelu">(x) : apply<"gelu", "gelu_tanh">(x); }

Tensor abs(const Tensor& x) {
  if (x.dtype() != kInt64) return apply<"abs">(x);
  return of_integers(x, plain_loop<int64_t, int64_t, 1>(
                            [](int64_t v) { return v < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(v)) : v; }));
}

Tensor sign(const Tensor& x) {
  if (x.dtype() == kInt64) {
    return of_integers(
        x, plain_loop<int64_t, int64_t, 1>([](int64_t v) { return static_cast<int64_t>((v > 0) - (v < 0)); }));
  }
  require_floating(kOp<"sign">.name, {&x});
  return record(kOp<"sign">, compute(function<"sign">().value, x.shape(), {&x}), {x},
                [](const Tensor& dy) -> Grads { return zeros_like(dy); });
}

}  // namespace tapegrad
#endif  // HWY_ONCE
