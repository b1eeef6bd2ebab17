// Runs formulas: fused, or recorded.
#include <tapegrad/autograd/autocast.h>
#include <tapegrad/autograd/detail/op_timer.h>
#include <tapegrad/autograd/internal/events.h>
#include <tapegrad/autograd/internal/tape_watch.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops/detail/formula.h>
#include <tapegrad/autograd/ops/detail/rounded.h>

#include <tapegrad/autograd/internal/fail.h>

namespace tapegrad {
namespace {

bool keeps_rounded(const Unary& function, const Tensor& x) {
  return function.keeps_rounded && x.dtype() == kFloat32 && Autocast::dtype() == kBFloat16;
}

}  // namespace

Tensor compute(const Formula& formula, const Shape& shape, std::initializer_list<const Tensor*> operands,
               const Scalars& scalars) {
  const DType dtype = (*operands.begin())->dtype();
  Tensor y = Tensor::empty(shape, dtype);
  map(y, operands, formula.kernel(dtype), scalars.values, formula.work);
  return y;
}

Tensor derive(const Formula& formula, std::initializer_list<const Tensor*> operands, const Scalars& scalars) {
  if (Tape::current()) return formula.recorded(operands.begin(), scalars.values);
  return compute(formula, (*operands.begin())->shape(), operands, scalars);
}

Tensor unary(const Op& op, const Tensor& x, const Unary& function, const Scalars& scalars) {
  const OpTimer timer(op, {x});
  require_floating(op.name, {&x});
  Tensor y = compute(function.value, x.shape(), {&x}, scalars);
  if (!needs_grad(x)) {
    detail::count_bytes(y.numel() * item_size(y.dtype()));
    return y;
  }
  if (keeps_rounded(function, x)) {
    return record(op, y, {x}, [&function, kept = rounded(function.keeps_y ? y : x)](const Tensor& dy) -> Grads {
      const Tensor wide = kept.to(kFloat32);
      return derive(function.gradient, {&dy, &wide});
    });
  }
  auto backward = [&function, scalars, kept = function.keeps_y ? y : x](const Tensor& dy) -> Grads {
    return derive(function.gradient, {&dy, &kept}, scalars);
  };
  const auto& [a, b, c] = scalars.values;
  return with_settings(record(op, y, {x}, std::move(backward)), "a", a, "b", b, "c", c);
}

Tensor with_scalar(const Op& op, const Tensor& x, const Formula& formula, Scalar number, Backward&& backward,
                   std::string_view setting) {
  return with_settings(record(op, compute(formula, x.shape(), {&x}, {number}), {x}, std::move(backward)), setting,
                       number);
}

Tensor promote_scalar(Scalar number) {
  require(!number.is_beyond_int64(), "scalar",
          "expected a number that int64 can hold next to a tensor of integers or bool, got {} (convert the tensor with "
          "to(kFloat32))",
          number);
  return scalar(number, number.is_int64() ? kInt64 : kFloat32);
}

}  // namespace tapegrad
