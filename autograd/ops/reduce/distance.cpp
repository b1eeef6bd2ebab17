// Distances of all pairs of rows: cdist, by blocks of rows.
// build: -Os
#include <fmt/format.h>
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tapegrad {
namespace {

const Op kCdist{"cdist"};

// Differences that are in memory at a time; of gradients, whose sums are those of blocks; of distances, from a cache.
constexpr int64_t kBlock = int64_t{1} << 21, kCached = int64_t{1} << 17;

// Rows of a whose differences from all rows of b make a block of `most` differences.
int64_t rows_of_block(const Shape& distances, int64_t width, int64_t most) {
  const int64_t per_row = distances.numel() / std::max<int64_t>(distances[-2], 1) * width;
  return std::max<int64_t>(1, most / std::max<int64_t>(per_row, 1));
}

// [..., P, D] and [..., R, D] -> [..., P, R, D]
Tensor differences(const Tensor& a, const Tensor& b) { return a.unsqueeze(-2) - b.unsqueeze(-3); }

Tensor joined(const std::vector<Tensor>& parts) { return parts.size() == 1 ? parts[0] : cat(parts, -2); }

// dy times the derivative of the norm `distance` [..., 1] by each difference; 0 at distance 0.
Tensor slope(const Tensor& difference, const Tensor& distance, double p, const Tensor& dy) {
  if (p == 1) return dy * sign(difference);
  if (std::isinf(p)) return where(abs(difference.detach()) == distance.detach(), dy * sign(difference), 0);
  const Tensor zero = distance == 0, safe = masked_fill(distance, zero, 1);
  if (p == 2) return masked_fill(dy, zero, 0) / safe * difference;
  const Tensor nothing = difference.detach() == 0 || zero;
  const Tensor share = masked_fill(abs(difference), nothing, 1) / safe;
  return masked_fill(dy * sign(difference) * pow(share, p - 1), nothing, 0);
}

Grads gradients(const Tensor& a, const Tensor& b, const Tensor& y, double p, const Tensor& dy) {
  const int64_t count = y.size(-2), block = rows_of_block(y.shape(), a.size(-1), kBlock);
  std::vector<Tensor> da;
  Tensor db;
  for (int64_t first = 0; first < count; first += block) {
    const auto rows = [&](const Tensor& x) { return x.slice(-2, first, std::min(first + block, count)); };
    const Tensor part = slope(differences(rows(a), b), rows(y).unsqueeze(-1), p, rows(dy).unsqueeze(-1));
    da.push_back(sum(part, -2));
    const Tensor of_b = -sum(part, -3);
    db = db.defined() ? db + of_b : of_b;
  }
  return {joined(da), db};
}

// Not recorded.
Tensor distances(const Tensor& a, const Tensor& b, double p, const Shape& shape) {
  const PauseRecording pause;
  if (a.size(-1) == 0 || shape.numel() == 0) return zeros(shape, a.dtype());
  const int64_t count = shape[-2], block = rows_of_block(shape, a.size(-1), kCached);
  std::vector<Tensor> parts;
  for (int64_t first = 0; first < count; first += block) {
    parts.push_back(norm(differences(a.slice(-2, first, std::min(first + block, count)), b), p, -1));
  }
  return joined(parts);
}

}  // namespace

Tensor cdist(const Tensor& a, const Tensor& b, double p) {
  require_floating(kCdist.name, {&a, &b});
  if (!(p >= 0)) kCdist.fail(fmt::format("expected p of 0 or more, got {}", p));
  if (a.dim() < 2 || b.dim() < 2 || a.size(-1) != b.size(-1)) {
    kCdist.fail(fmt::format("expected [..., P, D] and [..., R, D], got {} and {}", str(a.shape()), str(b.shape())));
  }
  const auto leading = [](const Tensor& x) { return Shape(x.shape().begin(), x.dim() - 2); };
  Shape shape = broadcast(kCdist.name, leading(a), leading(b));
  shape.push_back(a.size(-2));
  shape.push_back(b.size(-2));
  const Tensor y = distances(a, b, p, shape);
  if (!needs_grad(a) && !needs_grad(b)) return y;
  return record(kCdist, y, {a, b}, [a, b, y, p](const Tensor& dy) -> Grads {
    if (y.numel() == 0 || a.size(-1) == 0 || p == 0) return {zeros_like(a), zeros_like(b)};
    return gradients(a, b, y, p, dy);
  });
}

}  // namespace tapegrad
