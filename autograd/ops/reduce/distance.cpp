// Distances of all pairs of rows: cdist. In float32, for p = 1 and p = 2, by kernels that keep no differences; for
// other p, in float64, where backward is recorded and where squares overflow by operations on blocks of rows.
//
// build: -Os
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/reduce/distance.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/rows-inl.h>

#ifndef TAPEGRAD_DISTANCE_ARGS
#define TAPEGRAD_DISTANCE_ARGS
namespace tapegrad {

inline constexpr int64_t kOwnRows = 16;     // of a for one thread to take at a time
inline constexpr int64_t kAddedRows = 128;  // whose parts of a gradient are added in one block, as in other sums

// Of float32. `own` [batch, count, width]; for distances, `other` [batch, others / 16, width, 16] (panels of 16 rows,
// which are columns) -> y [batch, count, others]; for gradients, whose width is a multiple of 16, `other` [batch,
// others, width] and weights [batch, count, others], which may be transposed -> y [batch, count, blocks of kAddedRows,
// width].
struct DistanceArgs {
  bool squares;  // p = 2, not 1
  int64_t width, count, others;
  const float* own;
  const float* other;
  const float* weights;
  int64_t weight_row, weight_step;  // distances between weights of neighbouring rows of own, and of other
  float* y;
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

using Floats = Vec<float>;
constexpr int64_t kTile = kSumLanes<float>;
// The portable family, which need not be fast, has the operations instead.
constexpr bool kHasDistances = HWY_TARGET != HWY_SSE4;

// The distance of a row from the rows of one panel, which are lanes. The sum of each pair has the order that fold_spans
// gives the sum of a row that is not longer than kLongestRow.
HWY_INLINE Floats panel_distances(const float* own, const float* panel, int64_t n, bool squares) {
  constexpr int64_t kStep = 4 * kTile;
  const auto term = [=](int64_t i) HWY_ATTR __attribute__((always_inline)) {
    const Floats apart = Floats(own[i]) - load(panel + i * kTile);
    return squares ? apart * apart : abs(apart);
  };
  float sums[kTile][kLanes<float>];
  const int64_t parts = std::min(n, kTile);
  for (int64_t part = 0; part < parts; ++part) {
    Floats a, b, c, d;
    int64_t i = part;
    for (int64_t steps = n / kStep; steps > 0; --steps, i += kStep) {
      a += term(i);
      b += term(i + kTile);
      c += term(i + 2 * kTile);
      d += term(i + 3 * kTile);
    }
    Floats total = (a + b) + (c + d);
    for (; i < n; i += kTile) total += term(i);
    store(total, sums[part]);
  }
  for (int64_t half = kTile / 2; half > 0; half /= 2) {
    for (int64_t part = 0; part < std::min(half, parts - half); ++part) {
      store(load(sums[part]) + load(sums[part + half]), sums[part]);
    }
  }
  return squares ? sqrt(load(sums[0])) : load(sums[0]);
}

// Rows are pieces of kOwnRows rows of a batch.
void distance_rows(const DistanceArgs& args, int64_t begin, int64_t end) {
  if constexpr (!kHasDistances) return;
  const int64_t n = args.width, pieces = pieces_of(args.count, kOwnRows), panels = pieces_of(args.others, kTile);
  for (int64_t piece = begin; piece < end; ++piece) {
    const int64_t batch = piece / pieces, first = piece % pieces * kOwnRows;
    for (int64_t column = 0; column < args.others; column += kLanes<float>) {
      const float* const panel = args.other + (batch * panels + column / kTile) * n * kTile + column % kTile;
      for (int64_t row = first; row < std::min(first + kOwnRows, args.count); ++row) {
        const int64_t at = batch * args.count + row;
        store(panel_distances(args.own + at * n, panel, n, args.squares), args.y + at * args.others + column,
              std::min(kLanes<float>, args.others - column));
      }
    }
  }
}

// The gradient of one row: the sum of weights times differences, or times their signs, in the order of a sum over rows.
void distance_gradient_rows(const DistanceArgs& args, int64_t begin, int64_t end) {
  if constexpr (!kHasDistances) return;
  const int64_t n = args.width, step = args.weight_step, blocks = pieces_of(args.others, kAddedRows);
  for (int64_t piece = begin; piece < end; ++piece) {
    const int64_t row = piece / blocks, first = piece % blocks * kAddedRows;
    const int64_t last = std::min(first + kAddedRows, args.others), batch = row / args.count;
    const float* const weights = args.weights + batch * args.count * args.others + row % args.count * args.weight_row;
    for (int64_t column = 0; column < n; column += kLanes<float>) {
      const float* const other = args.other + batch * args.others * n + column;
      const Floats own = load(args.own + row * n + column);
      const auto term = [&](int64_t i) HWY_ATTR __attribute__((always_inline)) {
        const Floats apart = own - load(other + i * n);
        return Floats(weights[i * step]) * (args.squares ? apart : sign(apart));
      };
      Floats total;
      int64_t i = first;
      for (; i + 4 <= last; i += 4) total += (term(i) + term(i + 1)) + (term(i + 2) + term(i + 3));
      for (; i < last; ++i) total += term(i);
      store(total, args.y + piece * n + column);
    }
  }
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/lines.h>
#include <tapegrad/autograd/ops/detail/reduce.h>

#include <cmath>
#include <limits>
#include <vector>

namespace tapegrad {

HWY_EXPORT(distance_rows);
HWY_EXPORT(distance_gradient_rows);

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

// --- kernels ---

// The longest row whose sum has one part: 32 steps of 64 elements, and less than a step.
constexpr int64_t kLongestRow = 33 * 64 - 1;

bool has_kernel(const Tensor& x, double p) {
  return (p == 1 || p == 2) && x.dtype() == kFloat32 && kernel_family() != KernelFamily::portable;
}

// x [..., N, D], with the leading axes of `distances` and zeros behind an axis, to a multiple of 16; contiguous.
Tensor filled_up(const Tensor& x, const Shape& distances, int axis) {
  Shape shape = distances;
  shape[-2] = x.size(-2), shape[-1] = x.size(-1);
  const Tensor all = x.detach().expand(shape);
  const int64_t size = shape[axis], rest = size % 16;
  if (rest == 0) return all.contiguous();
  shape[axis] += 16 - rest;
  const Tensor y = zeros(shape, x.dtype());
  copy_into_view(y.slice(axis, 0, size), all);
  return y;
}

// Distances [..., P, R] for p = 1 and p = 2; an empty handle if squares overflow, or something is NaN.
Tensor distances_by_kernel(const Tensor& a, const Tensor& b, bool squares, const Shape& shape) {
  Shape own_shape = shape;
  own_shape[-1] = a.size(-1);
  const Tensor own = a.detach().expand(own_shape).contiguous(), rows = filled_up(b, shape, -2);
  Shape split = rows.shape();
  split[-2] = 16;
  split.insert(split.rank() - 2, rows.size(-2) / 16);
  const Tensor panels = rows.reshape(split).transpose(-1, -2).contiguous();
  const Tensor y = Tensor::empty(shape, a.dtype());
  const int64_t count = shape[-2];
  run_rows(kernel_of(HWY_DISPATCH_TABLE(distance_rows)),
           {.squares = squares,
            .width = a.size(-1),
            .count = count,
            .others = shape[-1],
            .own = own.data<float>(),
            .other = panels.data<float>(),
            .weights = nullptr,
            .weight_row = 0,
            .weight_step = 0,
            .y = y.mutable_data<float>()},
           shape.numel() / (count * shape[-1]) * pieces_of(count, kOwnRows), kOwnRows * shape[-1] * a.size(-1));
  return squares && !(amax(y).item<float>() <= std::numeric_limits<float>::max()) ? Tensor() : y;
}

// The gradient of a: the sum over the rows of b [..., R, D] of weights times differences, or times their signs. Weights
// are [..., P, R] or, `transposed`, [..., R, P].
Tensor gradient_by_kernel(const Tensor& a, const Tensor& b, bool squares, const Tensor& weights, bool transposed) {
  const Tensor own = filled_up(a, weights.shape(), -1), other = filled_up(b, weights.shape(), -1);
  const Tensor weight = packed(weights);
  const int64_t count = a.size(-2), others = b.size(-2), width = own.size(-1);
  const int64_t rows = weights.numel() / others, blocks = pieces_of(others, kAddedRows);
  const ReduceView parts{Tensor::empty({rows, blocks, width}, a.dtype()), rows, blocks, width};
  run_rows(kernel_of(HWY_DISPATCH_TABLE(distance_gradient_rows)),
           {.squares = squares,
            .width = width,
            .count = count,
            .others = others,
            .own = own.data<float>(),
            .other = other.data<float>(),
            .weights = weight.data<float>(),
            .weight_row = transposed ? 1 : others,
            .weight_step = transposed ? count : 1,
            .y = parts.x.mutable_data<float>()},
           rows * blocks, std::min(kAddedRows, others) * width);
  const Tensor y = Tensor::empty(own.shape(), a.dtype());
  reduce(ReduceKind::sum, parts, y);
  return y.slice(-1, 0, a.size(-1));
}

// dy, or dy / y; 0 at distance 0.
Tensor weights_of(const Tensor& y, bool squares, const Tensor& dy) {
  if (!squares) return dy;
  const Tensor zero = y == 0;
  return masked_fill(dy, zero, 0) / masked_fill(y, zero, 1);
}

// The bits of gradients(), which adds the rows of b by blocks of a.
Grads gradients_by_kernel(const Tensor& a, const Tensor& b, const Tensor& weights, bool squares, bool wants_a,
                          bool wants_b) {
  const int64_t count = a.size(-2), block = rows_of_block(weights.shape(), a.size(-1), kBlock);
  Tensor db;
  for (int64_t first = 0; wants_b && first < count; first += block) {
    const auto rows = [&](const Tensor& x) { return x.slice(-2, first, std::min(first + block, count)); };
    const Tensor of_b = gradient_by_kernel(b, rows(a), squares, rows(weights), true);
    db = db.defined() ? db + of_b : of_b;
  }
  return {wants_a ? gradient_by_kernel(a, b, squares, weights, false) : Tensor(), db};
}

// Not recorded.
Tensor distances(const Tensor& a, const Tensor& b, double p, const Shape& shape) {
  const PauseRecording pause;
  if (a.size(-1) == 0 || shape.numel() == 0) return zeros(shape, a.dtype());
  if (has_kernel(a, p) && a.size(-1) <= kLongestRow) {
    if (const Tensor y = distances_by_kernel(a, b, p == 2, shape); y.defined()) return y;
  }
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
  const bool wants_a = needs_grad(a), wants_b = needs_grad(b);
  if (!wants_a && !wants_b) return y;
  return record(kCdist, y, {a, b}, [wants_a, wants_b, a, b, y, p](const Tensor& dy) -> Grads {
    if (y.numel() == 0 || a.size(-1) == 0 || p == 0) return {zeros_like(a), zeros_like(b)};
    if (!has_kernel(a, p) || a.size(-1) == 1 || Tape::current()) return gradients(a, b, y, p, dy);
    return gradients_by_kernel(a, b, weights_of(y, p == 2, dy), p == 2, wants_a, wants_b);
  });
}

}  // namespace tapegrad
#endif  // HWY_ONCE
