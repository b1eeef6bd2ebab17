// Losses over sequences.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/nn/loss.h>

namespace tapegrad::nn {

namespace {

void check(const Tensor& outputs, const Tensor& target) {
  const bool fits = outputs.dim() == 3 && target.dim() == 2 && outputs.size(0) == target.size(0) &&
                    outputs.size(1) == target.size(1) && target.dtype() == kInt64 && target.numel() > 0;
  require(fits, "sequence_loss", "expected outputs [B, T, V] and target int64 [B, T], got {} and {} {}",
          outputs.shape(), target.dtype(), target.shape());
}

}  // namespace

Tensor sequence_loss(const Tensor& outputs, const Tensor& target) {
  check(outputs, target);
  const Tensor picked = gather(softmax(outputs, -1), -1, target.unsqueeze(-1));
  return sum(log(picked + 1e-10)) / -static_cast<double>(outputs.size(0));
}

double exact_match(const Tensor& outputs, const Tensor& target) {
  check(outputs, target);
  return mean(all(argmax(outputs.detach(), -1) == target, 1).to(kFloat64)).item();
}

}  // namespace tapegrad::nn
