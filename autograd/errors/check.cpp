// The errors of these checks.
#include <fmt/format.h>
#include <tapegrad/autograd/check.h>

#include <cmath>

namespace tapegrad {

void require_floating(std::string_view where, DType dtype) {
  if (!is_floating(dtype)) fail(where, fmt::format("expected float32 or float64, got {}", name(dtype)));
}

void fail_floating(std::string_view where, std::initializer_list<const Tensor*> operands) {
  std::string given;
  for (const Tensor* x : operands) {
    if (!x->defined()) continue;
    given += fmt::format("{}{} of shape {}", given.empty() ? "" : " and ", name(x->dtype()), str(x->shape()));
  }
  fail(where, fmt::format("expected {}float32 or float64, got {} (convert with to(kFloat32))",
                          operands.size() > 1 ? "operands of one type, " : "", given));
}

void require_bool(std::string_view where, const Tensor& x, std::string_view what) {
  if (x.dtype() == kBool) return;
  fail(where, fmt::format("the {} must be bool, got {} of shape {} (compare it first: x != 0)", what, name(x.dtype()),
                          str(x.shape())));
}

void require_number(std::string_view where, DType dtype, double value) {
  if (dtype != kInt64 || (std::trunc(value) == value && std::abs(value) < 0x1p63)) return;
  fail(where, fmt::format("expected a whole number for int64 x, got {} (convert x with to(kFloat32))", value));
}

void fail_probability(std::string_view where, std::string_view what, double p) {
  fail(where, fmt::format("{} must be between 0 and 1, got {}", what, p));
}

}  // namespace tapegrad
