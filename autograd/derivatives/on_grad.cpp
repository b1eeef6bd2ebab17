// Gradient hooks: the identity, whose backward calls a function with the gradient.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/on_grad.h>

namespace tapegrad {

namespace {

const RuledOp kOnGrad{"on_grad"};

}  // namespace

Tensor detail::on_grad(const Tensor& x, GradHook hook) {
  if (!needs_grad(x)) return x;
  const Tensor y = x.view(x.shape(), x.strides());
  auto backward = [hook = std::move(hook)](const Tensor& dy, const BackwardPass& pass) mutable -> Grads {
    if (pass.is_forward()) return pass.tangents[0];  // hooks are for gradients
    Tensor other = hook(dy);
    if (!other.defined()) return dy;
    require(other.shape() == dy.shape() && other.dtype() == dy.dtype(), kOnGrad,
            "expected a gradient {} {} from the hook, got {} {}", dy.dtype(), dy.shape(), other.dtype(), other.shape());
    return other;
  };
  return record(kOnGrad, y, {x}, std::move(backward), Reads::anything);
}

}  // namespace tapegrad
