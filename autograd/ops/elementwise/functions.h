// Functions of one tensor, elementwise: mathematics, activations, dropout.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <optional>

namespace tapegrad {

class Generator;

// --- elementwise: functions of one tensor (autograd/ops/elementwise/elementwise.cpp) ---
// float32 and float64; Error for other types. abs, sign, square and the rounding functions also take int64.

Tensor exp(const Tensor& x);
Tensor expm1(const Tensor& x);       ///< exp(x) - 1, accurate near 0
Tensor log(const Tensor& x);         ///< NaN below 0, -inf at 0
Tensor log1p(const Tensor& x);       ///< log(1 + x), accurate near 0
Tensor exp2(const Tensor& x);        ///< 2^x
Tensor log2(const Tensor& x);        ///< base 2; NaN below 0, -inf at 0
Tensor log10(const Tensor& x);       ///< base 10; NaN below 0, -inf at 0
Tensor sqrt(const Tensor& x);        ///< NaN below 0
Tensor rsqrt(const Tensor& x);       ///< 1 / sqrt(x)
Tensor square(const Tensor& x);      ///< x x
Tensor reciprocal(const Tensor& x);  ///< 1 / x
Tensor abs(const Tensor& x);         ///< slope 0 at 0
Tensor sign(const Tensor& x);        ///< -1, 0 or 1; 0 for NaN; gradient 0
Tensor floor(const Tensor& x);       ///< the largest integer <= x; gradient 0, as for the next three
Tensor ceil(const Tensor& x);        ///< the smallest integer >= x
Tensor round(const Tensor& x);       ///< the nearest integer, halves to even
Tensor trunc(const Tensor& x);       ///< x without its fraction
Tensor sin(const Tensor& x);         ///< x in radians, as for cos and tan; NaN for infinity
Tensor cos(const Tensor& x);         ///< NaN for infinity
Tensor tan(const Tensor& x);         ///< NaN for infinity
Tensor asin(const Tensor& x);        ///< NaN outside [-1, 1]
Tensor acos(const Tensor& x);        ///< NaN outside [-1, 1]
Tensor atan(const Tensor& x);        ///< in radians, between -pi/2 and pi/2
Tensor sinh(const Tensor& x);        ///< (e^x - e^-x) / 2
Tensor cosh(const Tensor& x);        ///< (e^x + e^-x) / 2
Tensor tanh(const Tensor& x);        ///< between -1 and 1
Tensor asinh(const Tensor& x);       ///< log(x + sqrt(x^2 + 1))
Tensor acosh(const Tensor& x);       ///< NaN below 1
Tensor atanh(const Tensor& x);       ///< NaN outside [-1, 1], infinite at -1 and 1
Tensor erf(const Tensor& x);         ///< 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x
Tensor sinc(const Tensor& x);        ///< sin(pi x) / (pi x), 1 at 0
/// x with NaN, inf and -inf replaced. By default inf and -inf become the largest and the lowest finite number of x's
/// type. Gradient 0 for replaced elements. int64 and bool tensors are returned unchanged.
Tensor nan_to_num(const Tensor& x, double nan = 0, std::optional<double> posinf = {},
                  std::optional<double> neginf = {});

// --- activations (autograd/ops/elementwise/elementwise.cpp; gate.cpp): float32 and float64 ---

Tensor sigmoid(const Tensor& x);      ///< 1 / (1 + exp(-x))
Tensor logit(const Tensor& x);        ///< log(x / (1 - x)), whose inverse is sigmoid; NaN outside [0, 1]
Tensor log_sigmoid(const Tensor& x);  ///< log(sigmoid(x)) without overflow
Tensor relu(const Tensor& x);         ///< max(x, 0); slope 0 at 0
Tensor relu6(const Tensor& x);        ///< min(max(x, 0), 6); slope 0 at 0 and 6
Tensor silu(const Tensor& x);         ///< x sigmoid(x)
Tensor softsign(const Tensor& x);     ///< x / (1 + |x|)
Tensor hardsigmoid(const Tensor& x);  ///< x / 6 + 1/2 limited to [0, 1]
Tensor hardswish(const Tensor& x);    ///< x hardsigmoid(x); slope 0 at -3, 1 at 3
enum class Gelu { erf, tanh };        ///< the exact form, or the approximation that GPT-2 uses
/// x P(X <= x) with X standard normal, or the approximation with tanh. Hendrycks, Gimpel 2016.
Tensor gelu(const Tensor& x, Gelu form = Gelu::erf);
/// log(1 + exp(beta x)) / beta without overflow; x where beta x > threshold.
Tensor softplus(const Tensor& x, double beta = 1, double threshold = 20);
/// x tanh(softplus(x)). Misra 2019.
Tensor mish(const Tensor& x);
/// x for x > 0, negative_slope * x otherwise; the slope at 0 is negative_slope.
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01);
/// x for x > 0, alpha (exp(x) - 1) otherwise. Clevert, Unterthiner, Hochreiter 2015.
Tensor elu(const Tensor& x, double alpha = 1);
/// scale * elu(x, alpha) with the constants of Klambauer et al. 2017.
Tensor selu(const Tensor& x);
/// x limited to [low, high]; slope 0 at both bounds, unlike clamp. NaN stays NaN. Error unless low <= high.
Tensor hardtanh(const Tensor& x, double low = -1, double high = 1);
/// x for x > 0, weight * x otherwise. weight has one element, or one per channel (axis 1 of x). float32 or float64, the
/// same for both. He et al. 2015.
Tensor prelu(const Tensor& x, const Tensor& weight);
/// a sigmoid(b), where a and b are the halves of x along an axis. Error if its size is odd. Dauphin et al. 2017.
Tensor glu(const Tensor& x, int64_t axis = -1);
/// silu(a) b with the same a and b. Shazeer 2020.
Tensor swiglu(const Tensor& x, int64_t axis = -1);

// --- dropout (autograd/ops/random/dropout.cpp), floating ---

/// In training, zeroes each element with probability p and multiplies the others by 1 / (1 - p). Samples one number per
/// element in row-major order, as PyTorch does for contiguous tensors (for transposed ones it follows their memory);
/// with p = 0 or 1, in evaluation and for empty tensors it samples nothing. Without a generator it uses the default
/// one. Error unless 0 <= p <= 1.
Tensor dropout(const Tensor& x, double p, bool training = true, Generator* generator = nullptr);

}  // namespace tapegrad
