// Matrix products with operands in bfloat16: their division among threads, and the way through BLIS.
#include <tapegrad/autograd/kernels/product/bfloat16_product.h>

#include <tapegrad/autograd/detail/pieces.h>
#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/kernels/processor.h>
#include <tapegrad/autograd/kernels/product/engines.h>
#include <tapegrad/autograd/kernels/simd/bfloat16.h>
#include <tapegrad/autograd/parallel.h>

#include <algorithm>
#include <cstddef>

namespace tapegrad {
namespace rounded_product {
namespace {

constexpr int64_t kPieceWork = 800000;         // least multiplications of a piece for another thread: about 20 us
constexpr int64_t kPieces = 16;                // pieces of a product that is large enough
constexpr int64_t kMostLanes = 256;            // of a piece: with the block's depth, what it packs fits the L2 cache
constexpr int64_t kShared = int64_t{4} << 20;  // words of the operand that is packed once for all pieces
constexpr int64_t kPackWork = 32 << 10;        // elements to pack on one thread at a time

struct Product {
  int64_t m, n, k;
  RoundedView a, b;
  bool add;
  MatrixView<float> c;

  Product transposed() const {
    return {n,
            m,
            k,
            {b.data, b.narrow, b.col_stride, b.row_stride},
            {a.data, a.narrow, a.col_stride, a.row_stride},
            add,
            {c.data, c.col_stride, c.row_stride}};
  }
  // C has contiguous columns, but not rows.
  bool wants_transposed() const { return c.row_stride == 1 && (n == 1 ? m > 1 : c.col_stride != 1); }
  int64_t work() const { return std::max<int64_t>(m, 8) * std::max<int64_t>(n, 8) * k; }
};

// One side of a product: rows of A in slivers, or columns of B in panels.
struct Side {
  RoundedView from;  // its rows are the lanes
  int64_t lanes, width;
  int64_t strip;  // words of one

  Side(const Form& form, const Product& p, bool of_b)
      : from(of_b ? RoundedView{p.b.data, p.b.narrow, p.b.col_stride, p.b.row_stride} : p.a),
        lanes(of_b ? p.n : p.m),
        width(of_b ? form.cols : form.rows),
        strip(form.strip_size(width)) {}
  int64_t count() const { return pieces_of(lanes, width); }

  // The strips [first, last) of the block of `depth` elements that begins at k.
  Strips strips(int64_t k, int64_t depth, int64_t first, int64_t last, float* to) const {
    const auto* const bytes = static_cast<const std::byte*>(from.data);
    return {.from = bytes + (first * width * from.row_stride + k * from.col_stride) * item(),
            .narrow = from.narrow,
            .lanes = std::min(lanes, last * width) - first * width,
            .lane_stride = from.row_stride,
            .k = depth,
            .k_stride = from.col_stride,
            .width = width,
            .to = to,
            .step = strip};
  }
  // What packing them will read, to be prefetched by `kernels` calls of the innermost kernel with `pairs` pairs.
  Lines lines(const Strips& s, int64_t kernels, int64_t pairs) const {
    const bool by_lane = s.k_stride == 1;
    if (!by_lane && s.lane_stride != 1) return {};
    Lines found{static_cast<const std::byte*>(s.from), by_lane ? s.lanes : s.k, (by_lane ? s.k : s.lanes) * item(),
                (by_lane ? s.lane_stride : s.k_stride) * item()};
    found.at_once = pieces_of(found.rows * pieces_of(found.width, 64), kernels * pieces_of(pairs, Lines::kEvery));
    return found;
  }
  int64_t item() const { return from.narrow ? 2 : 4; }
};

// Slivers [first_row, last_row) times panels [first_col, last_col), which are packed.
void multiply_packed(const Form& form, const Product& p, int64_t depth, bool add, int64_t first_row, int64_t last_row,
                     const float* slivers, int64_t first_col, int64_t last_col, const float* panels,
                     Lines* ahead = nullptr) {
  const int64_t sliver = form.strip_size(form.rows), panel = form.strip_size(form.cols);
  const auto c = [&](int64_t i, int64_t j) { return p.c.data + i * form.rows * p.c.row_stride + j * form.cols; };
  for (int64_t j = first_col; j < last_col; ++j, panels += panel) {
    for (int64_t i = first_row; i < last_row; ++i) {
      form.multiply({.pairs = (depth + 1) / 2,
                     .sliver = slivers + (i - first_row) * sliver,
                     .panel = panels,
                     .c = c(i, j),
                     .c_rows = p.c.row_stride,
                     .rows = std::min(form.rows, p.m - i * form.rows),
                     .cols = std::min(form.cols, p.n - j * form.cols),
                     .add = add,
                     .next_c = i + 1 < last_row ? c(i + 1, j) : c(first_row, j + 1),
                     .ahead = ahead});
    }
  }
}

// In this thread.
void multiply_here(const Form& form, const Product& p) {
  const Side a(form, p, false), b(form, p, true);
  const Scratch<float> memory(a.count() * a.strip + b.count() * b.strip);
  float *const slivers = memory.get(), *const panels = slivers + a.count() * a.strip;
  const FlushDenormals modes;
  int64_t k = 0;
  do {  // once also for k = 0
    const int64_t depth = std::min(form.depth, p.k - k);
    form.pack(a.strips(k, depth, 0, a.count(), slivers));
    form.pack(b.strips(k, depth, 0, b.count(), panels));
    multiply_packed(form, p, depth, p.add || k > 0, 0, a.count(), slivers, 0, b.count(), panels);
    k += depth;
  } while (k < p.k);
}

// The smaller operand is packed once, in parallel; each piece packs its part of the other one.
void multiply_pieces(const Form& form, const Product& p, Epilogue done, bool flipped) {
  const bool shares_b = p.n < p.m;
  const Side shared(form, p, shares_b), own(form, p, !shares_b);
  const int64_t blocks = pieces_of(p.k, form.depth), size = shared.count() * shared.strip;
  const Scratch<float> packed(blocks * size);
  const int64_t group = std::max<int64_t>(1, kPackWork / (shared.width * form.depth));
  const int64_t groups = pieces_of(shared.count(), group);
  parallel_for(blocks * groups, 1, [&](int64_t index, int64_t) {
    const int64_t block = index / groups, first = index % groups * group, k = block * form.depth;
    form.pack(shared.strips(k, std::min(form.depth, p.k - k), first, std::min(shared.count(), first + group),
                            packed.get() + block * size + first * shared.strip));
  });
  const int64_t wanted = std::clamp<int64_t>(p.work() / kPieceWork, 1, kPieces);
  const int64_t each =
      std::clamp<int64_t>(pieces_of(own.count(), wanted), 1, std::max<int64_t>(1, kMostLanes / own.width));
  parallel_for(own.count(), each, [&](int64_t first, int64_t last) {
    const FlushDenormals modes;
    const Scratch<float> mine((last - first) * own.strip);
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t k = block * form.depth, depth = std::min(form.depth, p.k - k);
      form.pack(own.strips(k, depth, first, last, mine.get()));
      // Then the next block is packed, or the first one of the next piece.
      const int64_t then = block + 1 < blocks ? first : last, next = block + 1 < blocks ? k + form.depth : 0;
      Lines ahead;
      if (then < own.count()) {
        ahead = own.lines(own.strips(next, std::min(form.depth, p.k - next), then,
                                     std::min(own.count(), then + last - first), nullptr),
                          (last - first) * shared.count(), pieces_of(depth, 2));
      }
      const float* const theirs = packed.get() + block * size;
      const bool add = p.add || block > 0;
      if (shares_b) {
        multiply_packed(form, p, depth, add, first, last, mine.get(), 0, shared.count(), theirs, &ahead);
      } else {
        multiply_packed(form, p, depth, add, 0, shared.count(), theirs, first, last, mine.get(), &ahead);
      }
    }
    if (!done) return;
    const int64_t begin = first * own.width, end = std::min(own.lanes, last * own.width);
    const int64_t others = shared.lanes;
    shares_b != flipped ? done(begin, end, 0, others) : done(0, others, begin, end);
  });
}

// C has contiguous rows, or one column.
void multiply_rows(const Form& form, const Product& p, Epilogue done, bool flipped) {
  if (p.work() < 2 * kPieceWork) {
    multiply_here(form, p);
    if (done) flipped ? done(0, p.n, 0, p.m) : done(0, p.m, 0, p.n);
    return;
  }
  // Parts of a long k in turn: the sums go on from one to the next.
  const int64_t words = std::min(p.m, p.n) * form.words / 2;  // per element of k
  const int64_t most = std::max<int64_t>(1, kShared / std::max<int64_t>(1, words * form.depth)) * form.depth;
  for (int64_t k = 0; k < p.k; k += most) {
    Product part = p;
    part.k = std::min(most, p.k - k);
    const auto moved = [k](RoundedView x, int64_t stride) {
      x.data = static_cast<const std::byte*>(x.data) + k * stride * (x.narrow ? 2 : 4);
      return x;
    };
    part.a = moved(p.a, p.a.col_stride);
    part.b = moved(p.b, p.b.row_stride);
    part.add = p.add || k > 0;
    multiply_pieces(form, part, k + part.k == p.k ? done : Epilogue(), flipped);
  }
}

// Any strides of C: through a dense copy.
void multiply_scattered(const Form& form, const Product& p, Epilogue done) {
  const Scratch<float> dense(p.m * p.n);
  Product q = p;
  q.c = {dense.get(), p.n, 1};
  const auto each = [&](auto f) {
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) f(dense.get()[i * p.n + j], p.c.data[i * p.c.row_stride + j * p.c.col_stride]);
    }
  };
  if (p.add) each([](float& mine, float c) { mine = c; });
  multiply_rows(form, q, {}, false);
  each([](float mine, float& c) { c = mine; });
  if (done) done(0, p.m, 0, p.n);
}

// A copy of x [rows, cols] in float32, rounded to bfloat16: for BLIS, whose sums are in the order of gemm.
void widen(const RoundedView& x, int64_t rows, int64_t cols, float* to) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j, ++to) {
      const int64_t at = i * x.row_stride + j * x.col_stride;
      *to = widen_bfloat16(x.narrow ? static_cast<const uint16_t*>(x.data)[at]
                                    : round_to_bfloat16(static_cast<const float*>(x.data)[at]));
    }
  }
}

}  // namespace

void multiply(const Form& form, int64_t m, int64_t n, int64_t k, RoundedView a, RoundedView b, bool add,
              MatrixView<float> c, Epilogue done) {
  if (m == 0 || n == 0) return;
  const Product p{m, n, k, a, b, add, c};
  const bool flipped = p.wants_transposed();
  if (!flipped && n > 1 && c.col_stride != 1) return multiply_scattered(form, p, done);
  multiply_rows(form, flipped ? p.transposed() : p, done, flipped);
}

}  // namespace rounded_product

void rounded_gemm(int64_t m, int64_t n, int64_t k, RoundedView a, RoundedView b, bool add, MatrixView<float> c,
                  Epilogue done) {
  if (products() == Products::blis) {
    const Scratch<float> wide_a(m * k), wide_b(k * n);
    rounded_product::widen(a, m, k, wide_a.get());
    rounded_product::widen(b, k, n, wide_b.get());
    return blas::gemm<float>(Products::blis, m, n, k, 1, {wide_a.get(), k, 1}, {wide_b.get(), n, 1}, add ? 1.0F : 0.0F,
                             c, done);
  }
  count_product(Engine::bfloat16, m * n * k);
  rounded_product::multiply(*rounded_product::forms().front(), m, n, k, a, b, add, c, done);
}

void batched_rounded_gemm(int64_t batch, int64_t m, int64_t n, int64_t k, RoundedView a, RoundedView b, bool add,
                          MatrixView<float> c, BatchOffsets offsets) {
  if (batch == 0 || m == 0 || n == 0) return;
  const auto each = [&](int64_t i) {
    const auto moved = [](RoundedView x, int64_t by) {
      x.data = static_cast<const std::byte*>(x.data) + by * (x.narrow ? 2 : 4);
      return x;
    };
    const BatchOffset at = offsets(i);
    rounded_gemm(m, n, k, moved(a, at.a), moved(b, at.b), add, {c.data + at.c, c.row_stride, c.col_stride});
  };
  const int64_t work = m * n * (k + 1);
  if (batch == 1 || work > 16 * rounded_product::kPieceWork) {  // few and large: in parallel inside each
    for (int64_t i = 0; i < batch; ++i) each(i);
    return;
  }
  parallel_for_each(batch, std::max<int64_t>(1, rounded_product::kPieceWork / work), [&](int64_t i) { each(i); });
}

}  // namespace tapegrad
