// Functions of one tensor: exp, expm1, log, log1p, sqrt, rsqrt, abs, sign, sin, cos, tanh, erf.
#include <tapegrad/autograd/kernels/simd_targets.h>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/elementwise.cpp"
#include <hwy/foreach_target.h>
#include <tapegrad/autograd/ops/formula_simd.h>

#ifndef TAPEGRAD_ELEMENTWISE_FORMULAS
#define TAPEGRAD_ELEMENTWISE_FORMULAS
namespace tapegrad {

inline constexpr double kTwoOverRootPi = 1.1283791670955126;

struct ElementwiseFormulas {
  Unary exp, expm1, log, log1p, sqrt, rsqrt, abs, sin, cos, tanh, erf;
  Formula sign;
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

const ElementwiseFormulas& elementwise_formulas() {
  static constexpr ElementwiseFormulas formulas = {
      .exp = from_y([](auto x) { return exp(x); }, [](auto dy, auto y) { return dy * y; }),
      .expm1 = from_y([](auto x) { return expm1(x); }, [](auto dy, auto y) { return dy * (y + 1); }),
      .log = from_x([](auto x) { return log(x); }, [](auto dy, auto x) { return dy / x; }),
      .log1p = from_x([](auto x) { return log1p(x); }, [](auto dy, auto x) { return dy / (x + 1); }),
      .sqrt = from_y([](auto x) { return sqrt(x); }, [](auto dy, auto y) { return dy / (2 * y); }),
      .rsqrt = from_y([](auto x) { return rsqrt(x); }, [](auto dy, auto y) { return -0.5 * dy * (y * y * y); }),
      .abs = from_x([](auto x) { return abs(x); }, [](auto dy, auto x) { return dy * sign(x); }),
      .sin = from_x([](auto x) { return sin(x); }, [](auto dy, auto x) { return dy * cos(x); }),
      .cos = from_x([](auto x) { return cos(x); }, [](auto dy, auto x) { return -dy * sin(x); }),
      .tanh = from_y([](auto x) { return tanh(x); }, [](auto dy, auto y) { return dy * (1 - y * y); }),
      .erf =
          from_x([](auto x) { return erf(x); }, [](auto dy, auto x) { return dy * (kTwoOverRootPi * exp(-(x * x))); }),
      .sign = value_of<1>([](auto x) { return sign(x); }),
  };
  return formulas;
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {
namespace {

HWY_EXPORT(elementwise_formulas);

const ElementwiseFormulas& formulas() {
  static const ElementwiseFormulas& chosen = HWY_DYNAMIC_DISPATCH(elementwise_formulas)();
  return chosen;
}

const Op kExp{"exp"};
const Op kExpm1{"expm1"};
const Op kLog{"log"};
const Op kLog1p{"log1p"};
const Op kSqrt{"sqrt"};
const Op kRsqrt{"rsqrt"};
const Op kAbs{"abs"};
const Op kSign{"sign"};
const Op kSin{"sin"};
const Op kCos{"cos"};
const Op kTanh{"tanh"};
const Op kErf{"erf"};

Tensor of_integers(const Tensor& x, MapKernel kernel) {
  Tensor y = Tensor::empty(x.shape(), kInt64);
  map(y, {&x}, kernel);
  return y;
}

}  // namespace

Tensor exp(const Tensor& x) { return unary(kExp, x, formulas().exp); }
Tensor expm1(const Tensor& x) { return unary(kExpm1, x, formulas().expm1); }
Tensor log(const Tensor& x) { return unary(kLog, x, formulas().log); }
Tensor log1p(const Tensor& x) { return unary(kLog1p, x, formulas().log1p); }
Tensor sqrt(const Tensor& x) { return unary(kSqrt, x, formulas().sqrt); }
Tensor rsqrt(const Tensor& x) { return unary(kRsqrt, x, formulas().rsqrt); }
Tensor sin(const Tensor& x) { return unary(kSin, x, formulas().sin); }
Tensor cos(const Tensor& x) { return unary(kCos, x, formulas().cos); }
Tensor tanh(const Tensor& x) { return unary(kTanh, x, formulas().tanh); }
Tensor erf(const Tensor& x) { return unary(kErf, x, formulas().erf); }

Tensor abs(const Tensor& x) {
  if (x.dtype() != kInt64) return unary(kAbs, x, formulas().abs);
  return of_integers(x, plain_loop<int64_t, int64_t, 1>(
                            [](int64_t v) { return v < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(v)) : v; }));
}

Tensor sign(const Tensor& x) {
  if (x.dtype() == kInt64) {
    return of_integers(
        x, plain_loop<int64_t, int64_t, 1>([](int64_t v) { return static_cast<int64_t>((v > 0) - (v < 0)); }));
  }
  need_floating(kSign, x);
  return record(kSign, compute(formulas().sign, x.shape(), {&x}), {x},
                [](const Tensor& dy) -> Grads { return zeros_like(dy); });
}

}  // namespace tapegrad
#endif  // HWY_ONCE
