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
  bool* finite;  // of distances, for each piece: whether no sum is NaN or infinite
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

using Floats = Vec<float>;
constexpr int64_t kTile = kSumLanes<float>;
constexpr int64_t kManyTiles = 9;  // of a row; kernels are compiled for each smaller number of whole tiles
// The portable family, which need not be fast, has the operations instead.
constexpr bool kHasDistances = HWY_TARGET != HWY_SSE4;

template <bool kSquares>
HWY_INLINE Floats size_of(Floats apart) {
  if constexpr (kSquares) return apart * apart;
  return abs(apart);
}

// Partial sum number `part` < n of the distance of a row from the rows of one panel, which are lanes, in the order that
// fold_spans gives the sum of a row that is not longer than kLongestRow. Zeros to which it adds are left out: no term
// is -0. The row has kTiles whole tiles, or kManyTiles and more.
template <bool kSquares, int64_t kTiles>
HWY_INLINE Floats partial_sum(const float* own, const float* panel, int64_t part, int64_t n) {
  constexpr int64_t kStep = 4 * kTile;
  const int64_t tiles = kTiles == kManyTiles ? n / kTile : kTiles;
  const auto term = [=](int64_t i) HWY_ATTR __attribute__((always_inline)) {
    return size_of<kSquares>(Floats(own[i]) - load(panel + i * kTile));
  };
  Floats total = term(part);
  int64_t i = part + kTile;
  if constexpr (kTiles >= 4) {
    Floats a = total, b = term(i), c = term(i + kTile), d = term(i + 2 * kTile);
    const int64_t end = part + tiles / 4 * kStep;
    for (i = part + kStep; i < end; i += kStep) {
      a += term(i);
      b += term(i + kTile);
      c += term(i + 2 * kTile);
      d += term(i + 3 * kTile);
    }
    total = (a + b) + (c + d);
  }
  for (const int64_t end = part + tiles * kTile; i < end; i += kTile) total += term(i);
  if (kTiles > 0 && i < n) total += term(i);
  return total;
}

// The sum of the partial sums that are added to number `first` before it is added to another one.
template <bool kSquares, int64_t kTiles, int64_t kApart>
HWY_INLINE Floats sum_of_parts(const float* own, const float* panel, int64_t first, int64_t n) {
  if constexpr (kApart == kTile) {
    return partial_sum<kSquares, kTiles>(own, panel, first, n);
  } else {
    const Floats total = sum_of_parts<kSquares, kTiles, 2 * kApart>(own, panel, first, n);
    if (kTiles == 0 && first + kApart >= n) return total;
    return total + sum_of_parts<kSquares, kTiles, 2 * kApart>(own, panel, first + kApart, n);
  }
}

// The sum of each row's terms.
template <bool kSquares, int64_t kTiles>
HWY_INLINE Floats panel_sums(const float* own, const float* panel, int64_t n) {
  Floats quarters[4];
  for (int64_t i = 0; i < (kTiles == 0 ? std::min<int64_t>(4, n) : 4); ++i) {
    quarters[i] = sum_of_parts<kSquares, kTiles, 4>(own, panel, i, n);
  }
  return (quarters[0] + quarters[2]) + (quarters[1] + quarters[3]);
}

template <bool kSquares, int64_t kTiles>
void distances_of_rows(const DistanceArgs& args, int64_t begin, int64_t end) {
  const int64_t n = args.width, pieces = pieces_of(args.count, kOwnRows), panels = pieces_of(args.others, kTile);
  const Floats most = std::numeric_limits<float>::max();
  for (int64_t piece = begin; piece < end; ++piece) {
    const int64_t batch = piece / pieces, first = piece % pieces * kOwnRows;
    Mask<float> finite = most == most;
    for (int64_t column = 0; column < args.others; column += kLanes<float>) {
      const float* const panel = args.other + (batch * panels + column / kTile) * n * kTile + column % kTile;
      for (int64_t row = first; row < std::min(first + kOwnRows, args.count); ++row) {
        const int64_t at = batch * args.count + row;
        const Floats sums = panel_sums<kSquares, kTiles>(args.own + at * n, panel, n);
        finite = finite & (sums <= most);
        store(kSquares ? sqrt(sums) : sums, args.y + at * args.others + column,
              std::min(kLanes<float>, args.others - column));
      }
    }
    args.finite[piece] = !any(!finite);
  }
}

template <bool kSquares, int64_t kTiles = 0>
void distances_of_tiles(const DistanceArgs& args, int64_t begin, int64_t end) {
  if constexpr (kTiles < kManyTiles) {
    if (args.width / kTile != kTiles) return distances_of_tiles<kSquares, kTiles + 1>(args, begin, end);
  }
  distances_of_rows<kSquares, kTiles>(args, begin, end);
}

// Rows are pieces of kOwnRows rows of a batch.
void distance_rows(const DistanceArgs& args, int64_t begin, int64_t end) {
  if constexpr (!kHasDistances) return;
  args.squares ? distances_of_tiles<true>(args, begin, end) : distances_of_tiles<false>(args, begin, end);
}

// The gradient of one row: the sum of weights times differences, or times their signs, in the order of a sum over rows.
// In `kWide` vectors of columns at a time, which share the weights.
template <bool kSquares, int64_t kWide>
HWY_INLINE void gradient_of_columns(const float* own, const float* other, int64_t n, const float* weights, int64_t step,
                                    int64_t count, float* y) {
  const auto term = [=](int64_t i, int64_t wide) HWY_ATTR __attribute__((always_inline)) {
    const Floats apart = load(own + wide * kLanes<float>) - load(other + i * n + wide * kLanes<float>);
    return Floats(weights[i * step]) * (kSquares ? apart : sign(apart));
  };
  Floats total[kWide];
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
#pragma GCC unroll 4
    for (int64_t w = 0; w < kWide; ++w) total[w] += (term(i, w) + term(i + 1, w)) + (term(i + 2, w) + term(i + 3, w));
  }
  for (; i < count; ++i) {
#pragma GCC unroll 4
    for (int64_t w = 0; w < kWide; ++w) total[w] += term(i, w);
  }
#pragma GCC unroll 4
  for (int64_t w = 0; w < kWide; ++w) store(total[w], y + w * kLanes<float>);
}

template <bool kSquares>
void gradients_of_rows(const DistanceArgs& args, int64_t begin, int64_t end) {
  const int64_t n = args.width, step = args.weight_step, blocks = pieces_of(args.others, kAddedRows);
  for (int64_t piece = begin; piece < end; ++piece) {
    const int64_t row = piece / blocks, first = piece % blocks * kAddedRows, batch = row / args.count;
    const int64_t count = std::min(kAddedRows, args.others - first);
    const float* const weights =
        args.weights + batch * args.count * args.others + row % args.count * args.weight_row + first * step;
    const float *const own = args.own + row * n, *const other = args.other + (batch * args.others + first) * n;
    float* const y = args.y + piece * n;
    int64_t column = 0;
    for (constexpr int64_t kWide = 4; column + kWide * kLanes<float> <= n; column += kWide * kLanes<float>) {
      gradient_of_columns<kSquares, kWide>(own + column, other + column, n, weights, step, count, y + column);
    }
    for (; column < n; column += kLanes<float>) {
      gradient_of_columns<kSquares, 1>(own + column, other + column, n, weights, step, count, y + column);
    }
  }
}

void distance_gradient_rows(const DistanceArgs& args, int64_t begin, int64_t end) {
  if constexpr (!kHasDistances) return;
  args.squares ? gradients_of_rows<true>(args, begin, end) : gradients_of_rows<false>(args, begin, end);
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/fuse.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/lines.h>
#include <tapegrad/autograd/ops/detail/reduce.h>
#include <tapegrad/autograd/ops/detail/shapes.h>

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
  if (std::isinf(p)) {
    const Tensor size = abs(difference.detach()), chosen = logical_or(size == distance.detach(), isnan(size));
    const Tensor parts = chosen.to(dy.dtype());  // equal ones share it, as in norm
    return dy * (parts / sum(parts, -1, true)) * sign(difference);
  }
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
  const Tensor own = a.detach().expand(with_size(shape, -1, a.size(-1))).contiguous(), rows = filled_up(b, shape, -2);
  Shape split = rows.shape();
  split[-2] = 16;
  split.insert(split.rank() - 2, rows.size(-2) / 16);
  const Tensor panels = rows.reshape(split).transpose(-1, -2).contiguous();
  const Tensor y = Tensor::empty(shape, a.dtype());
  const int64_t count = shape[-2], pieces = shape.numel() / (count * shape[-1]) * pieces_of(count, kOwnRows);
  const Tensor finite = Tensor::empty({pieces}, kBool);
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
            .y = y.mutable_data<float>(),
            .finite = finite.mutable_data<bool>()},
           pieces, kOwnRows * shape[-1] * a.size(-1));
  return squares && !all(finite) ? Tensor() : y;
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
            .y = parts.x.mutable_data<float>(),
            .finite = nullptr},
           rows * blocks, std::min(kAddedRows, others) * width);
  const Tensor y = Tensor::empty(own.shape(), a.dtype());
  reduce(ReduceKind::sum, parts, y);
  return y.slice(-1, 0, a.size(-1));
}

// dy, or dy / y; 0 at distance 0.
Tensor weights_of(const Tensor& y, bool squares, const Tensor& dy) {
  return squares ? fuse([](auto size, auto of_y) { return where(size == 0, 0, of_y / size); }, y, dy) : dy;
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
  if (!(p >= 0)) fail(kCdist, "expected p of 0 or more, got {}", p);
  require(a.dim() >= 2 && b.dim() >= 2 && a.size(-1) == b.size(-1), kCdist,
          "expected [..., P, D] and [..., R, D], got {} and {}", a.shape(), b.shape());
  const auto leading = [](const Tensor& x) { return Shape(x.shape().begin(), x.dim() - 2); };
  const Shape shape = with_axes(broadcast(kCdist.name, leading(a), leading(b)), {a.size(-2), b.size(-2)});
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
