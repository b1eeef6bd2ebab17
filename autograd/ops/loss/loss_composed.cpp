// Losses of elements that are made of recorded operations.
// build: -Os
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops/loss/detail/loss.h>

#include <numbers>

namespace tapegrad {
namespace {

constexpr std::string_view kPoisson = "poisson_nll_loss";
constexpr std::string_view kSoftMargin = "soft_margin_loss";
constexpr std::string_view kHinge = "hinge_embedding_loss";
constexpr std::string_view kRanking = "margin_ranking_loss";

// The target in a floating type. Error unless x is floating, the target numbers, and the shapes fit.
Tensor floating_target(std::string_view where, const Tensor& x, const Tensor& target) {
  require_floating(where, {&x});
  shape_of_losses(where, {&x, &target});
  if (is_integer(target.dtype())) return target.to(x.dtype());
  require_floating(where, {&target});
  return target;
}

}  // namespace

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, const PoissonNllOptions& options) {
  const Tensor t = floating_target(kPoisson, input, target);
  Tensor losses = options.log_input ? exp(input) - t * input : input - t * log(input + options.eps);
  if (options.full) {
    const Tensor many = where(t > 1, t, 1.);
    const Tensor stirling = many * log(many) - many + 0.5 * log(2 * std::numbers::pi * many);
    losses = losses + where(t > 1, stirling, 0.);
  }
  return reduce_recorded(losses, options.reduction);
}

Tensor soft_margin_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  return reduce_recorded(-log_sigmoid(floating_target(kSoftMargin, x, target) * x), reduction);
}

Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, const HingeEmbeddingOptions& options) {
  const Tensor t = floating_target(kHinge, x, target);
  const Tensor near = where(t == -1, 0., x), far = where(t == 1, 0., clamp(options.margin - x, 0, {}));
  return reduce_recorded(near + far, options.reduction);
}

Tensor margin_ranking_loss(const Tensor& a, const Tensor& b, const Tensor& target, const MarginOptions& options) {
  require_floating(kRanking, {&a});
  require_floating(kRanking, {&b});
  shape_of_losses(kRanking, {&a, &b});
  const Tensor apart = a - b;
  const Tensor t = floating_target(kRanking, apart, target);
  return reduce_recorded(clamp(options.margin - t * apart, 0, {}), options.reduction);
}

}  // namespace tapegrad
