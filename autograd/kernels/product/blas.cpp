// Cuts matrix products into tiles.
#include <tapegrad/autograd/detail/pieces.h>
#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/kernels/processor.h>
#include <tapegrad/autograd/kernels/product/blas.h>
#include <tapegrad/autograd/kernels/product/blas_blis.h>
#include <tapegrad/autograd/kernels/product/blas_choice.h>
#include <tapegrad/autograd/kernels/product/blas_kernels.h>
#include <tapegrad/autograd/parallel.h>

#include <algorithm>
#include <cmath>

namespace tapegrad {
namespace {

using blas::Kernels;
using blas::kernels;
using blas::kPackWork;
using blas::kPieceWork;
using blas::kSharedB;
using blas::kTile;
using blas::Product;
using blas::Tile;

constexpr int64_t kPieces = 16;        // tiles of a product that is large enough
constexpr int64_t kOwnB = 8 << 10;     // up to this many elements of B, each tile packs its own part;
constexpr int64_t kSharedA = 8 << 20;  // up to this many elements of A, it is packed once for all tiles
constexpr int64_t kAddWork = 8 << 10;  // least elements of parts to add on another thread

// Bytes of the second-level cache; the results do not depend on it.
int64_t l2_bytes() { return std::clamp(second_cache_bytes(), int64_t{256} << 10, int64_t{1} << 20); }

// Most rows of a tile: a block of A with kDepth columns of float takes half of L2.
int64_t tile_rows() { return l2_bytes() / int64_t{2 * sizeof(float) * blas::kDepth}; }

// Tells the caller of finished tiles; `flipped` if C' is computed.
struct Finished {
  Epilogue done;
  bool flipped;

  Finished turned() const { return {done, !flipped}; }
  void operator()(int64_t row, int64_t row_end, int64_t col, int64_t col_end) const {
    if (!done) return;
    flipped ? done(col, col_end, row, row_end) : done(row, row_end, col, col_end);
  }
};

// Computes one tile in this thread; C has contiguous rows, or one column.
template <class T>
void multiply_rows(bool on_blis, const Tile<T>& t) {
  if (on_blis) return blas::multiply_on_blis(t);
  const Scratch<T> scratch(kernels<T>().scratch_size(t));
  kernels<T>().multiply(t, scratch.get());
}

// The same for any strides of C.
template <class T>
void multiply_tile(bool on_blis, Tile<T> t, int64_t c_cols) {
  if (c_cols == 1 || t.n == 1) return multiply_rows(on_blis, t);
  const Scratch<T> dense(t.m * t.n);  // C's rows are not contiguous: copy them there and back
  const Tile<T> outer = t;
  t.c = dense.get();
  t.c_rows = t.n;
  if (t.beta != 0) {
    for (int64_t i = 0; i < t.m; ++i) {
      for (int64_t j = 0; j < t.n; ++j) t.c[i * t.n + j] = outer.c[i * outer.c_rows + j * c_cols];
    }
  }
  multiply_rows(on_blis, t);
  if (outer.c_rows == 1) return kernels<T>().store_turned(t.m, t.n, t.c, t.n, outer.c, c_cols);
  for (int64_t i = 0; i < t.m; ++i) {
    for (int64_t j = 0; j < t.n; ++j) outer.c[i * outer.c_rows + j * c_cols] = t.c[i * t.n + j];
  }
}

// How C is divided into tiles. The number of threads changes no sum.
struct Cut {
  int64_t rows, cols;    // of a tile
  int64_t down, across;  // tiles

  Cut(int64_t m, int64_t n, int64_t work, bool rows_of_a, int64_t most_rows, int64_t most_cols, int64_t unit_rows,
      int64_t unit_cols)
      : down(pieces_of(m, most_rows)), across(pieces_of(n, most_cols)) {
    // If there are few tiles, more along the longer side, so that all threads have work; for two threads, an even
    // number. One thread needs no more than these.
    const bool alone = num_threads() == 1;
    const int64_t wanted = alone ? 1 : std::clamp<int64_t>(work / kPieceWork, 1, kPieces);
    const int64_t tiles = down * across;
    if (tiles < wanted || (!alone && tiles % 2 == 1 && tiles > 1 && tiles < kPieces)) {
      const int64_t times = tiles < wanted ? pieces_of(wanted, tiles) : 2;
      if (m >= n) {
        down = std::max(down, std::min(down * times, m / (4 * unit_rows)));
      } else {
        across = std::max(across, std::min(across * times, n / unit_cols));
      }
    }
    int64_t units = pieces_of(pieces_of(m, down), unit_rows);
    if (down > 1 && across == 1) {
      units = even_units(down, m, unit_rows);
      // Two halves of the columns, if that suits two threads better and rows of A need not be copied for both.
      if (!rows_of_a && n >= 4 * unit_cols && 19 * 2 * end_of(units * unit_rows, m, 2) > 20 * m) {
        across = 2;
        units = pieces_of(pieces_of(m, pieces_of(down, 2)), unit_rows);
      }
    }
    rows = down == 1 ? m : units * unit_rows;
    cols = pieces_of(pieces_of(n, across), unit_cols) * unit_cols;
    down = pieces_of(m, rows);
    across = pieces_of(n, cols);
  }

  // Rows that the thread with the most computes if tiles of `rows` are taken in order.
  static int64_t end_of(int64_t rows, int64_t m, int64_t threads) {
    const int64_t whole = (m - 1) / rows, last = m - whole * rows, more = whole % threads;
    return whole / threads * rows + (more > 0 ? rows : last);
  }
  // Units of rows of a tile, for at most `most` tiles and at least half as many: those with which two and four threads
  // end earliest.
  static int64_t even_units(int64_t most, int64_t m, int64_t unit) {
    const int64_t all = pieces_of(m, unit);
    int64_t best = 0, least = 0;
    for (int64_t tiles = most; 2 * tiles >= most; --tiles) {
      const int64_t units = pieces_of(all, tiles), end = end_of(units * unit, m, 2) + 2 * end_of(units * unit, m, 4);
      if (best == 0 || end < least) best = units, least = end;
    }
    return best;
  }
};

// An operand that is packed once for all tiles: `count` panels or slivers, k times `width` elements each.
template <class T>
class PackedOnce {
 public:
  // pack(begin, end, to) packs the panels or slivers begin .. end - 1; `to` is that of the first of all.
  PackedOnce(bool wanted, int64_t count, int64_t width, int64_t k, const auto& pack)
      : size_(count * width), memory_(wanted ? size_ * k : 0) {
    if (!wanted) return;
    parallel_for(count, std::max<int64_t>(1, kPackWork / (width * (k + 1))),
                 [&](int64_t begin, int64_t end) { pack(begin, end, memory_.get()); });
  }
  // For a tile that begins at row or column `first`.
  blas::Shared<T> from(int64_t first) const {
    return {memory_.get(), first, size_, l2_bytes() / int64_t{2 * sizeof(T)}};
  }

 private:
  const int64_t size_;  // elements along the other axis than k, with padding
  Scratch<T> memory_;   // nullptr if it is not packed
};

// By BLIS, with its packing: one tile for each thread, so many down and across that the least is packed twice.
template <class T>
void multiply_packed(const Product<T>& p, const Finished& done) {
  const int64_t tiles = std::clamp<int64_t>(p.work() / kPieceWork, 1, num_threads());
  int64_t down = 1;
  for (int64_t d = 1; d <= tiles; ++d) {
    const auto packed = [&](int64_t rows) { return rows * p.n + tiles / rows * p.m; };
    if (tiles % d == 0 && packed(d) < packed(down)) down = d;
  }
  const auto part = [](int64_t all, int64_t parts, int64_t unit) {
    return pieces_of(pieces_of(all, parts), unit) * unit;
  };
  const int64_t most_rows = part(p.m, down, kernels<T>().blis_rows),
                most_cols = part(p.n, tiles / down, kernels<T>().cols);
  down = pieces_of(p.m, most_rows);
  parallel_for(down * pieces_of(p.n, most_cols), 1, [&](int64_t index, int64_t) {
    const int64_t row = index % down * most_rows, col = index / down * most_cols;
    const int64_t rows = std::min(most_rows, p.m - row), cols = std::min(most_cols, p.n - col);
    multiply_tile(true, p.tile(row, rows, col, cols), p.c.col_stride);
    done(row, row + rows, col, col + cols);
  });
}

template <class T>
void multiply_tiles(const Product<T>& p, const Finished& done) {
  const Kernels<T>& use = kernels<T>();
  const int64_t most_cols = p.a.col_stride != 1 ? 3 * kTile : kTile;  // wide if A must be packed
  const Cut cut(p.m, p.n, p.work(), p.a.col_stride == 1, p.c.col_stride == 1 ? tile_rows() : kTile, most_cols, use.rows,
                use.cols);
  const bool share_b = cut.down > 2 && p.k * p.n <= kSharedB && p.k * p.n > kOwnB;
  const PackedOnce<T> panels(share_b, pieces_of(p.n, use.cols), use.cols, p.k, [&](int64_t begin, int64_t end, T* to) {
    use.pack_panels(p.n, p.k, p.b.data, p.b.row_stride, p.b.col_stride, begin, end, to);
  });
  // If A is read once for each panel of B, one stream is faster than one for each row.
  const bool share_a =
      cut.across > 1 && p.m > 8 && p.k > 0 && p.m * p.k <= kSharedA &&
      (p.a.col_stride != 1 || (!share_b && p.c.col_stride == 1) || blas::aliased<T>(p.a.row_stride, p.a.col_stride));
  const PackedOnce<T> slivers(share_a, pieces_of(p.m, use.rows), use.rows, p.k, [&](int64_t begin, int64_t end, T* to) {
    use.pack_slivers(p.m, p.k, p.a.data, p.a.row_stride, p.a.col_stride, begin, end, to);
  });
  parallel_for(cut.down * cut.across, 1, [&](int64_t index, int64_t) {
    const int64_t row = index % cut.down * cut.rows, col = index / cut.down * cut.cols;
    const int64_t rows = std::min(cut.rows, p.m - row), cols = std::min(cut.cols, p.n - col);
    Tile<T> tile = p.tile(row, rows, col, cols);
    tile.panels = panels.from(col);
    tile.slivers = slivers.from(row);
    multiply_tile(false, tile, p.c.col_stride);
    done(row, row + rows, col, col + cols);
  });
}

// Adds the sums of blocks to the rows [begin, end) of C in order, the first of all to beta C.
template <class T>
void add_blocks(const Product<T>& p, bool first, int64_t blocks, const T* sums, int64_t begin, int64_t end) {
  const int64_t size = p.m * p.n;
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t block = 0; block < blocks; ++block) {
      const T* const from = sums + block * size + i * p.n;
      const T beta = first && block == 0 ? p.beta : T{1};
      T* const row = p.c.data + i * p.c.row_stride;
      if (p.c.col_stride == 1 && beta == 1) {
        for (int64_t j = 0; j < p.n; ++j) row[j] += from[j];
        continue;
      }
      for (int64_t j = 0; j < p.n; ++j) {
        T& c = row[j * p.c.col_stride];
        c = beta == 0 ? from[j] : beta == 1 ? c + from[j] : std::fma(beta, c, from[j]);
      }
    }
  }
}

// For small C and long k: blocks along k in parallel, kBlocks at a time, which are then added in order.
template <class T>
void multiply_along_k(const Product<T>& p, bool on_blis, const Finished& done) {
  constexpr int64_t kBlocks = 16;
  const int64_t depth = blas::block_depth(p.k), blocks = pieces_of(p.k, depth), size = p.m * p.n;
  // An even number of tiles, so that two threads have as much work.
  const int64_t cols = blocks % 2 == 0 ? p.n : pieces_of(pieces_of(p.n, 2), kernels<T>().cols) * kernels<T>().cols;
  const int64_t across = pieces_of(p.n, cols);
  const Scratch<T> sums(std::min(blocks, kBlocks) * size);
  for (int64_t first = 0; first < blocks; first += kBlocks) {
    const int64_t count = std::min(kBlocks, blocks - first);
    parallel_for(count * across, 1, [&](int64_t index, int64_t) {
      const int64_t block = index / across, begin = (first + block) * depth, col = index % across * cols;
      Tile<T> tile = p.tile(0, p.m, col, std::min(cols, p.n - col));
      tile.a += begin * tile.a_cols;
      tile.b += begin * tile.b_rows;
      tile.k = std::min(depth, p.k - begin);
      tile.beta = 0;
      tile.c = sums.get() + block * size + col;
      tile.c_rows = p.n;
      multiply_rows(on_blis, tile);
    });
    parallel_for(p.m, std::max<int64_t>(1, kAddWork / p.n),
                 [&](int64_t begin, int64_t end) { add_blocks(p, first == 0, count, sums.get(), begin, end); });
  }
  done(0, p.m, 0, p.n);
}

template <class T>
void multiply_any(const Product<T>& p, Products products, const Finished& done) {
  const bool on_blis = blas::on_blis(p, products);
  count_product(engine_of(p, on_blis), p.m * p.n * p.k);
  if (p.one_tile()) {
    multiply_tile(on_blis, p.tile(0, p.m, 0, p.n), p.c.col_stride);
    done(0, p.m, 0, p.n);
  } else if (p.along_k()) {
    multiply_along_k(p, on_blis, done);
  } else if (on_blis) {
    multiply_packed(p, done);
  } else if (p.better_turned()) {
    multiply_tiles(p.transposed(), done.turned());
  } else {
    multiply_tiles(p, done);
  }
}

}  // namespace

Engine blas::engine_of_linear(int64_t m, int64_t n, int64_t k) {
  const Product<float> p{m, n, k, 1, {nullptr, k, 1}, {nullptr, 1, k}, 0, {nullptr, n, 1}};
  return engine_of(p, blas::on_blis(p, products()));
}

template <class T>
void blas::gemm(Products products, int64_t m, int64_t n, int64_t k, T alpha,
                MatrixView<const std::type_identity_t<T>> a, MatrixView<const std::type_identity_t<T>> b, T beta,
                MatrixView<std::type_identity_t<T>> c, Epilogue done) {
  if (m == 0 || n == 0) return;
  if (const int64_t first = first_part(k); first < k) {
    const Scratch<T> sums(m * n);
    gemm<T>(products, m, n, first, alpha, a, b, beta, c, {});
    gemm<T>(products, m, n, k - first, alpha, {a.data + first * a.col_stride, a.row_stride, a.col_stride},
            {b.data + first * b.row_stride, b.row_stride, b.col_stride}, T{0}, {sums.get(), n, 1}, {});
    parallel_for(m, std::max<int64_t>(1, kAddWork / n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin * n; i < end * n; ++i) {
        c.data[i / n * c.row_stride + i % n * c.col_stride] += sums.get()[i];
      }
    });
    if (done) done(0, m, 0, n);
    return;
  }
  const Product<T> p{m, n, k, alpha, a, b, beta, c};
  const bool flipped = !p.row_major_c();
  multiply_any(flipped ? p.transposed() : p, products, {done, flipped});
}

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, T alpha, MatrixView<const std::type_identity_t<T>> a,
          MatrixView<const std::type_identity_t<T>> b, T beta, MatrixView<std::type_identity_t<T>> c, Epilogue done) {
  blas::gemm<T>(products(), m, n, k, alpha, a, b, beta, c, done);
}

template <class T>
void batched_gemm(int64_t batch, int64_t m, int64_t n, int64_t k, T alpha, MatrixView<const std::type_identity_t<T>> a,
                  MatrixView<const std::type_identity_t<T>> b, T beta, MatrixView<std::type_identity_t<T>> c,
                  BatchOffsets offsets) {
  if (batch == 0 || m == 0 || n == 0) return;
  const int64_t work = m * n * (k + 1);
  if (batch == 1 || work > 16 * kPieceWork || k > kLongestSum) {  // few and large: in parallel over the tiles of each
    for (int64_t i = 0; i < batch; ++i) {
      const BatchOffset at = offsets(i);
      gemm<T>(m, n, k, alpha, {a.data + at.a, a.row_stride, a.col_stride}, {b.data + at.b, b.row_stride, b.col_stride},
              beta, {c.data + at.c, c.row_stride, c.col_stride});
    }
    return;
  }
  Product<T> p{m, n, k, alpha, a, b, beta, c};
  const bool flipped = !p.row_major_c();
  if (flipped) p = p.transposed();
  const Kernels<T>& use = kernels<T>();
  const bool on_blis = blas::on_blis(p, products());
  count_product(on_blis ? Engine::blis : Engine::small, batch * m * n * k);
  parallel_for(batch, std::max<int64_t>(1, kPieceWork / work), [&](int64_t begin, int64_t end) {
    Tile<T> first = p.tile(0, p.m, 0, p.n);
    first.fetch_b = true;  // as the keys of attention, which a step reads once
    const Scratch<T> scratch(use.scratch_size(first));
    for (int64_t i = begin; i < end; ++i) {
      const BatchOffset at = offsets(i);
      Tile<T> tile = first;
      tile.a += flipped ? at.b : at.a;
      tile.b += flipped ? at.a : at.b;
      tile.c += at.c;
      if (on_blis || (p.c.col_stride != 1 && p.n != 1)) {
        multiply_tile(on_blis, tile, p.c.col_stride);
      } else {
        use.multiply(tile, scratch.get());
      }
    }
  });
}

template void blas::gemm<float>(Products, int64_t, int64_t, int64_t, float, MatrixView<const float>,
                                MatrixView<const float>, float, MatrixView<float>, Epilogue);
template void blas::gemm<double>(Products, int64_t, int64_t, int64_t, double, MatrixView<const double>,
                                 MatrixView<const double>, double, MatrixView<double>, Epilogue);

template void gemm<float>(int64_t, int64_t, int64_t, float, MatrixView<const float>, MatrixView<const float>, float,
                          MatrixView<float>, Epilogue);
template void gemm<double>(int64_t, int64_t, int64_t, double, MatrixView<const double>, MatrixView<const double>,
                           double, MatrixView<double>, Epilogue);
template void batched_gemm<float>(int64_t, int64_t, int64_t, int64_t, float, MatrixView<const float>,
                                  MatrixView<const float>, float, MatrixView<float>, BatchOffsets);
template void batched_gemm<double>(int64_t, int64_t, int64_t, int64_t, double, MatrixView<const double>,
                                   MatrixView<const double>, double, MatrixView<double>, BatchOffsets);

}  // namespace tapegrad
