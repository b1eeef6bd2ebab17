// The errors of these checks, and that for types that an operation does not compute in.
// build: -Os
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/dtype.h>
#include <tapegrad/autograd/internal/fail.h>

#include <cmath>

namespace tapegrad {

void detail::refuse_to_compute(DType dtype) {
  fail("dtype", "cannot compute with {} (convert with to({}){})", dtype, is_integer(dtype) ? "kInt64" : "kFloat32",
       is_half(dtype) ? "; halves are for the weights of linear and embedding" : "");
}

void require_floating(std::string_view where, DType dtype) {
  if (!is_floating(dtype)) fail(where, "expected float32 or float64, got {}", dtype);
}

void fail_floating(std::string_view where, std::initializer_list<const Tensor*> operands) {
  std::string given;
  for (const Tensor* x : operands) {
    if (!x->defined()) continue;
    given += fmt::format("{}{} of shape {}", given.empty() ? "" : " and ", name(x->dtype()), str(x->shape()));
  }
  fail(where, "expected {}float32 or float64, got {} (convert with to(kFloat32))",
       operands.size() > 1 ? "operands of one type, " : "", given);
}

void require_bool(std::string_view where, const Tensor& x, std::string_view what) {
  require(x.dtype() == kBool, where, "expected the {} to be bool, got {} of shape {} (compare it first: x != 0)", what,
          x.dtype(), x.shape());
}

void require_number(std::string_view where, DType dtype, Scalar value) {
  if (holds(dtype, value)) return;
  const bool is_whole = value.is_beyond_int64() || std::trunc(value) == value;
  fail(where, "expected a whole number{} for {} x, got {} (convert x with to({}))", is_whole ? " in its range" : "",
       dtype, value, is_whole && dtype != kInt64 ? "kInt64" : "kFloat32");
}

Tensor require_integers(std::string_view where, const Tensor& x, std::string_view what) {
  if (is_integer(x.dtype())) return x.to(kInt64);
  fail(where, "expected int64 {}, got {} (convert with to(kInt64))", what, x.dtype());
}

std::string Limits::wording() const {
  const bool from = std::isfinite(least), to = std::isfinite(most);
  if (!from && !to) return "to be finite";
  if (!to) return fmt::format("{} {}", open_below ? ">" : ">=", least);
  if (!from) return fmt::format("{} {}", open_above ? "<" : "<=", most);
  return fmt::format("in {}{}, {}{}", open_below ? '(' : '[', least, most, open_above ? ')' : ']');
}

std::string Limits::fault(std::string_view name, double value) const {
  if (accept(value)) return "";
  return fmt::format("expected {} {}, got {}", name, std::isfinite(value) ? wording() : "to be finite", value);
}

void fail_limits(std::string_view where, std::string_view name, double value, const Limits& limits) {
  fail(where, limits.fault(name, value));
}

}  // namespace tapegrad
