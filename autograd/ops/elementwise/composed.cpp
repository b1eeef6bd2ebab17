// Arithmetic that is made of other operations: pow of a number, clamp between tensors, addcmul, addcdiv, logaddexp,
// logaddexp2, xlogy, xlog1py. Values that no gradient needs, and all of the logarithms, are formulas of fuse(), in one
// pass over memory.
//
// build: -Os
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/fuse.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/formula.h>

#include <cmath>
#include <numbers>

namespace tapegrad {
namespace {

const ElementwiseOp kClampBetween{"clamp_between"};
const ElementwiseOp kLogaddexp{"logaddexp"};
const ElementwiseOp kLogaddexp2{"logaddexp2"};
const ElementwiseOp kXlogy{"xlogy"};
const ElementwiseOp kXlog1py{"xlog1py"};
constexpr std::string_view kClamp = "clamp";
constexpr std::string_view kAddcdiv = "addcdiv";

// --- one pass ---

// What is computed in one pass over memory, of up to three tensors of one floating type and a number.
enum class Pass : uint8_t { clamp, addcmul, addcdiv, logaddexp, logaddexp2, xlogy, xlog1py, count };

Symbol formula_of(Pass pass, const Symbol* x, double number) {
  if (pass == Pass::clamp) return minimum(maximum(x[0], x[1]), x[2]);
  if (pass <= Pass::addcdiv) {
    const Symbol both = pass == Pass::addcmul ? x[1] * x[2] : x[1] / x[2];
    return x[0] + (number == 1 ? both : both * number);
  }
  if (pass >= Pass::xlogy) {  // 0 where x is 0, unless y is NaN
    return where(x[0] == 0 && x[1] == x[1], 0, x[0] * (pass == Pass::xlogy ? log(x[1]) : log1p(x[1])));
  }
  const Symbol apart = -where(x[0] == x[1], 0, abs(x[0] - x[1]));  // also 0 for equal infinities
  return maximum(x[0], x[1]) + (pass == Pass::logaddexp ? log1p(exp(apart)) : log1p(exp2(apart)) / number);
}

// As fuse() computes it. Not recorded.
[[gnu::noinline]] Tensor in_one_pass(Pass pass, const Tensor& x, const Tensor& a, const Tensor& b, double number) {
  static FusedMemory memories[static_cast<std::size_t>(Pass::count)];
  const PauseRecording pause;
  FusedCall call(memories[static_cast<std::size_t>(pass)]);
  const Symbol symbols[] = {call.argument(x), call.argument(a), b.defined() ? call.argument(b) : Symbol(0)};
  return call.result(formula_of(pass, symbols, number));
}

// --- logarithms ---

// x log(y), or x log(1 + y): 0 where x is 0, unless y is NaN.
Tensor product_with_log(const Op& op, Pass pass, const Tensor& x, const Tensor& y) {
  const DType dtype = result_type(x, y);
  if (!is_floating(dtype)) return product_with_log(op, pass, x.to(kFloat32), y.to(kFloat32));
  if (x.dtype() != y.dtype()) return product_with_log(op, pass, x.to(dtype), y.to(dtype));
  shape_of(op.name, x, y);
  const Tensor value = in_one_pass(pass, x, y, {}, 0);
  const bool wants_x = needs_grad(x), wants_y = needs_grad(y);
  if (!wants_x && !wants_y) return value;
  return record(op, value, {x, y}, [&op, pass, wants_x, wants_y, x, y](const Tensor& dy) -> Grads {
    const double least = pass == Pass::xlogy ? 0 : -1;  // where the logarithm begins
    Tensor dx;
    if (wants_x) dx = masked_fill(product_with_log(op, pass, dy, y), x == 0 && y <= least, 0);
    if (!wants_y) return {dx, Tensor()};
    const Tensor both = x == 0 && y == least, from = least == 0 ? y : y - least;
    return {dx, any(both) ? masked_fill(dy * x / masked_fill(from, both, 1), both, 0) : dy * x / from};
  });
}

// log(e^(unit a) + e^(unit b)) / unit, where unit is 1 or log(2).
Tensor log_of_sum(const Op& op, const Tensor& a, const Tensor& b, double unit) {
  const DType dtype = result_type(a, b);
  require_floating(op.name, dtype);
  if (a.dtype() != b.dtype()) return log_of_sum(op, a.to(dtype), b.to(dtype), unit);
  shape_of(op.name, a, b);
  const Tensor value = in_one_pass(&op == &kLogaddexp ? Pass::logaddexp : Pass::logaddexp2, a, b, {}, unit);
  const bool wants_a = needs_grad(a), wants_b = needs_grad(b);
  if (!wants_a && !wants_b) return value;
  return record(op, value, {a, b}, [unit, wants_a, wants_b, a, b](const Tensor& dy) -> Grads {
    Tensor difference = a - b, given = dy;
    if (!all_finite(a)) {  // nothing of nothing: no gradient, as of logsumexp; halves of the same inf
      const Tensor none = a == b && a == -HUGE_VAL, same = none || (a == b && a == HUGE_VAL);
      difference = masked_fill(a, same, 0) - masked_fill(b, same, 0), given = masked_fill(dy, none, 0);
    }
    const Tensor apart = unit == 1 ? difference : difference * unit;
    return {wants_a ? given * sigmoid(apart) : Tensor(), wants_b ? given * sigmoid(-apart) : Tensor()};
  });
}

// x + value (a * b), and the same with a quotient: in one pass where no gradient is wanted.
Tensor sum_with(std::string_view where, Pass pass, Tensor (*both_of)(const Tensor&, const Tensor&), const Tensor& x,
                const Tensor& a, const Tensor& b, Scalar value) {
  broadcast(where, x.shape(), shape_of(where, a, b));
  const DType dtype = x.dtype();
  if (is_floating(dtype) && a.dtype() == dtype && b.dtype() == dtype &&
      !(needs_grad(x) || needs_grad(a) || needs_grad(b))) {
    return in_one_pass(pass, x, a, b, value);
  }
  const Tensor both = both_of(a, b);
  return x + (value == 1 ? both : both * value);
}

}  // namespace

Tensor pow(Scalar base, const Tensor& exponent) {
  if (is_floating(exponent.dtype())) return pow(scalar(base, exponent.dtype()), exponent);
  return with_number([](const Tensor& x, const Tensor& number) { return pow(number, x); }, exponent, base);
}

Tensor clamp(const Tensor& x, const Tensor& low, const Tensor& high) {
  if (!low.defined() && !high.defined()) fail(kClamp, "expected a lower bound, an upper bound or both");
  if (!high.defined()) return maximum(x, low);
  if (!low.defined()) return minimum(x, high);
  const DType dtype = promoted_type(result_type(x, low), result_type(x, high));
  if (x.dtype() != dtype || low.dtype() != dtype || high.dtype() != dtype) {
    return clamp(x.to(dtype), low.to(dtype), high.to(dtype));
  }
  if (is_narrow_integer(dtype)) return clamp(x.to(kInt64), low.to(kInt64), high.to(kInt64)).to(dtype);
  broadcast(kClamp, shape_of(kClamp, x, low), high.shape());
  const Tensor y = is_floating(dtype) ? in_one_pass(Pass::clamp, x, low, high, 0)
                                      : minimum(maximum(x, low), high);  // not recorded either
  return record(kClampBetween, y, {x, low, high}, [x, low, high](const Tensor& dy) -> Grads {
    const Tensor below = x<low, above = x> high, ordered = low < high, sound = low <= high;
    const Tensor on_low = ordered && x == low, on_high = ordered && x == high, half = dy * 0.5;
    return {where(below || above, 0, where(on_low || on_high, half, dy)),
            where(below && sound, dy, where(on_low, half, 0)),
            where((above && sound) || low > high, dy, where(on_high, half, 0))};
  });
}

Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, Scalar value) {
  return sum_with("addcmul", Pass::addcmul, mul, x, a, b, value);
}

Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, Scalar value) {
  require(is_floating(a.dtype()) || is_floating(b.dtype()), kAddcdiv,
          "expected a floating dividend or divisor, got {} and {} (convert one with to(kFloat32), or use div with "
          "Rounding::trunc)",
          a.dtype(), b.dtype());
  return sum_with(kAddcdiv, Pass::addcdiv, div, x, a, b, value);
}

Tensor logaddexp(const Tensor& a, const Tensor& b) { return log_of_sum(kLogaddexp, a, b, 1); }
Tensor logaddexp2(const Tensor& a, const Tensor& b) { return log_of_sum(kLogaddexp2, a, b, std::numbers::ln2); }

Tensor xlogy(const Tensor& x, const Tensor& y) { return product_with_log(kXlogy, Pass::xlogy, x, y); }
Tensor xlog1py(const Tensor& x, const Tensor& y) { return product_with_log(kXlog1py, Pass::xlog1py, x, y); }

}  // namespace tapegrad
