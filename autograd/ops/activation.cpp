// Activations: sigmoid, relu, silu, gelu.
#include <tapegrad/autograd/kernels/simd_targets.h>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/activation.cpp"
#include <hwy/foreach_target.h>
#include <tapegrad/autograd/ops/formula_simd.h>

#ifndef TAPEGRAD_ACTIVATION_FORMULAS
#define TAPEGRAD_ACTIVATION_FORMULAS
namespace tapegrad {

inline constexpr double kHalfRoot = 0.70710678118654752;   // 1 / sqrt(2)
inline constexpr double kNormal = 0.39894228040143268;     // 1 / sqrt(2 pi)
inline constexpr double kTwiceRoot = 1.59576912160573072;  // 2 sqrt(2 / pi)
inline constexpr double kCubic = 0.044715;

struct ActivationFormulas {
  Unary sigmoid, relu, silu, gelu_erf, gelu_tanh;
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

const ActivationFormulas& activation_formulas() {
  static constexpr ActivationFormulas formulas = {
      .sigmoid = from_y([](auto x) { return sigmoid(x); }, [](auto dy, auto y) { return dy * (y * (1 - y)); }),
      // NaN is not <= 0: it stays, and passes the gradient.
      .relu = from_y([](auto x) { return where(x <= 0, 0, x); }, [](auto dy, auto y) { return where(y <= 0, 0, dy); }),
      .silu = from_x([](auto x) { return silu(x); },
                     [](auto dy, auto x) {
                       const auto s = sigmoid(x);
                       return dy * (s * (1 + x * (1 - s)));
                     }),
      // x P(X <= x), X standard normal. Hendrycks, Gimpel 2016.
      .gelu_erf = from_x([](auto x) { return x * 0.5 * (1 + erf(x * kHalfRoot)); },
                         [](auto dy, auto x) {
                           const auto below = 0.5 * (1 + erf(x * kHalfRoot));
                           return dy * (below + x * (kNormal * exp(-0.5 * (x * x))));
                         }),
      // 0.5 x (1 + tanh(u)) is x sigmoid(2u), which stays exact where tanh(u) is near -1.
      .gelu_tanh = from_x([](auto x) { return x * sigmoid(kTwiceRoot * (x + kCubic * (x * x * x))); },
                          [](auto dy, auto x) {
                            const auto s = sigmoid(kTwiceRoot * (x + kCubic * (x * x * x)));
                            const auto inner = kTwiceRoot * (1 + 3 * kCubic * (x * x));
                            return dy * (s + x * (s * (1 - s) * inner));
                          }),
  };
  return formulas;
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {
namespace {

HWY_EXPORT(activation_formulas);

const ActivationFormulas& formulas() {
  static const ActivationFormulas& chosen = HWY_DYNAMIC_DISPATCH(activation_formulas)();
  return chosen;
}

const Op kSigmoid{"sigmoid"};
const Op kRelu{"relu"};
const Op kSilu{"silu"};
const Op kGelu{"gelu"};

}  // namespace

Tensor sigmoid(const Tensor& x) { return unary(kSigmoid, x, formulas().sigmoid); }
Tensor relu(const Tensor& x) { return unary(kRelu, x, formulas().relu); }
Tensor silu(const Tensor& x) { return unary(kSilu, x, formulas().silu); }
Tensor gelu(const Tensor& x, Gelu form) {
  return unary(kGelu, x, form == Gelu::erf ? formulas().gelu_erf : formulas().gelu_tanh);
}

}  // namespace tapegrad
#endif  // HWY_ONCE
