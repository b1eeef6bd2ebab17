// Losses of elements, and of vectors by their distances and angles, that are made of recorded operations.
// build: -Os
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/loss/detail/loss.h>

#include <numbers>

namespace tapegrad {
namespace {

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
  const Tensor t = floating_target("poisson_nll_loss", input, target);
  Tensor losses = options.log_input ? exp(input) - t * input : input - t * log(input + options.eps);
  if (options.full) {
    const Tensor many = where(t > 1, t, 1.);
    const Tensor stirling = many * log(many) - many + 0.5 * log(2 * std::numbers::pi * many);
    losses = losses + where(t > 1, stirling, 0.);
  }
  return reduce_recorded(losses, options.reduction);
}

Tensor soft_margin_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  return reduce_recorded(-log_sigmoid(floating_target("soft_margin_loss", x, target) * x), reduction);
}

Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, const HingeEmbeddingOptions& options) {
  const Tensor t = floating_target("hinge_embedding_loss", x, target);
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

namespace {

constexpr std::string_view kTriplet = "triplet_margin_loss";
constexpr std::string_view kCosine = "cosine_embedding_loss";

}  // namespace

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginOptions& options) {
  require(anchor.dim() == positive.dim() && anchor.dim() == negative.dim(), kTriplet,
          "expected anchor, positive and negative with equally many axes, got {}, {} and {}", anchor.shape(),
          positive.shape(), negative.shape());
  if (!(options.margin > 0)) fail(kTriplet, "expected a margin above 0, got {}", options.margin);
  const auto distance = [&](const Tensor& a, const Tensor& b) {
    require_floating(kTriplet, a.dtype());
    require_floating(kTriplet, b.dtype());
    broadcast(kTriplet, a.shape(), b.shape());
    return pairwise_distance(a, b, options.p, options.eps);
  };
  const Tensor near = distance(anchor, positive);
  Tensor far = distance(anchor, negative);
  if (options.swap) far = minimum(far, distance(positive, negative));
  return reduce_recorded(clamp(near - far + options.margin, 0, {}), options.reduction);
}

Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target, const MarginOptions& options) {
  require_floating(kCosine, a.dtype());
  require_floating(kCosine, b.dtype());
  Shape shape = broadcast(kCosine, a.shape(), b.shape());
  bool fits = shape.rank() > 0;
  if (fits) {
    shape.erase(-1 + shape.rank());
    fits = shape == target.shape();
  }
  require(fits, kCosine, "expected a target with the axes of the vectors {} and {} except the last, got {}", a.shape(),
          b.shape(), target.shape());
  constexpr double kEps = 1e-12;
  const Tensor squares = (sum(a * a, -1) + kEps) * (sum(b * b, -1) + kEps);
  const Tensor cosine = sum(a * b, -1) / sqrt(squares);
  const Tensor apart = where(target == -1, clamp(cosine - options.margin, 0, {}), 0.);
  return reduce_recorded(where(target == 1, 1 - cosine, apart), options.reduction);
}

}  // namespace tapegrad
