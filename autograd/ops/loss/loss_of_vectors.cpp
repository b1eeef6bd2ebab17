// Losses of vectors by their distances and angles, made of recorded operations.
// build: -Os
#include <fmt/format.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/loss/detail/loss.h>

namespace tapegrad {
namespace {

constexpr std::string_view kTriplet = "triplet_margin_loss";
constexpr std::string_view kCosine = "cosine_embedding_loss";

}  // namespace

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginOptions& options) {
  if (anchor.dim() != positive.dim() || anchor.dim() != negative.dim()) {
    fail(kTriplet, fmt::format("expected anchor, positive and negative with equally many axes, got {}, {} and {}",
                               str(anchor.shape()), str(positive.shape()), str(negative.shape())));
  }
  if (!(options.margin > 0)) fail(kTriplet, fmt::format("expected a margin above 0, got {}", options.margin));
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
  if (!fits) {
    fail(kCosine, fmt::format("expected a target with the axes of the vectors {} and {} except the last, got {}",
                              str(a.shape()), str(b.shape()), str(target.shape())));
  }
  constexpr double kEps = 1e-12;
  const Tensor squares = (sum(a * a, -1) + kEps) * (sum(b * b, -1) + kEps);
  const Tensor cosine = sum(a * b, -1) / sqrt(squares);
  const Tensor apart = where(target == -1, clamp(cosine - options.margin, 0, {}), 0.);
  return reduce_recorded(where(target == 1, 1 - cosine, apart), options.reduction);
}

}  // namespace tapegrad
