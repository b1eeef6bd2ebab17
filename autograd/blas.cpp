// How products of matrices are cut into tiles, and who multiplies them.
#include <tapegrad/autograd/blas.h>
#include <tapegrad/autograd/blas_kernels.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/storage.h>

#include <algorithm>

namespace tapegrad {
namespace {

using blas::Kernels;
using blas::kernels;
using blas::Tile;

constexpr int64_t kTileRows = 252, kTileCols = 256;  // a tile of C at most; rows: a multiple of 6 and of 14
constexpr int64_t kPieceWork = 250000;               // multiplications worth handing to another thread: 8 us
constexpr int64_t kSharedB = 128 << 10;              // elements of B up to which it is packed once for all tiles

// A block of the pool for the length of a call.
template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t size) : bytes_(static_cast<std::size_t>(size) * sizeof(T)) {
    if (size > 0) data_ = static_cast<T*>(pool::acquire(bytes_));
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (data_ != nullptr) pool::release(data_, bytes_);
  }
  T* get() const { return data_; }

 private:
  std::size_t bytes_;
  T* data_ = nullptr;
};

template <class T>
struct Product {
  int64_t m, n, k;
  T alpha;
  MatrixView<const T> a, b;
  T beta;
  MatrixView<T> c;

  // Rows of C are contiguous, or at least not its columns: C' = B' A' otherwise.
  bool upright() const { return c.col_stride == 1 || c.row_stride != 1; }
  Product transposed() const {
    return {n,
            m,
            k,
            alpha,
            {b.data, b.col_stride, b.row_stride},
            {a.data, a.col_stride, a.row_stride},
            beta,
            {c.data, c.col_stride, c.row_stride}};
  }
  Tile<T> tile(int64_t row, int64_t rows, int64_t col, int64_t cols) const {
    return {rows,
            cols,
            k,
            alpha,
            a.data + row * a.row_stride,
            a.row_stride,
            a.col_stride,
            b.data + col * b.col_stride,
            b.row_stride,
            b.col_stride,
            beta,
            c.data + row * c.row_stride + col * c.col_stride,
            c.row_stride};
  }
};

// One tile in this thread, whatever the strides of C.
template <class T>
void multiply(const Kernels<T>& use, Tile<T> t, int64_t c_cols) {
  if (c_cols == 1 || t.n == 1) {
    const Scratch<T> scratch(use.scratch_size(t));
    use.multiply(t, scratch.get());
    return;
  }
  const Scratch<T> dense(t.m * t.n);  // C's rows are not contiguous: there and back
  const Tile<T> outer = t;
  t.c = dense.get();
  t.c_rows = t.n;
  if (t.beta != 0) {
    for (int64_t i = 0; i < t.m; ++i) {
      for (int64_t j = 0; j < t.n; ++j) t.c[i * t.n + j] = outer.c[i * outer.c_rows + j * c_cols];
    }
  }
  const Scratch<T> scratch(use.scratch_size(t));
  use.multiply(t, scratch.get());
  for (int64_t i = 0; i < t.m; ++i) {
    for (int64_t j = 0; j < t.n; ++j) outer.c[i * outer.c_rows + j * c_cols] = t.c[i * t.n + j];
  }
}

int64_t pieces_of(int64_t size, int64_t most) { return (size + most - 1) / most; }

// `size` in `pieces` nearly equal steps, each a multiple of `unit`.
int64_t step_of(int64_t size, int64_t pieces, int64_t unit) {
  return ((size + pieces - 1) / pieces + unit - 1) / unit * unit;
}

// How C is cut: by the sizes alone.
struct Cut {
  int64_t rows, cols;  // of a tile

  template <class T>
  Cut(const Kernels<T>& use, int64_t m, int64_t n, int64_t k) {
    rows = step_of(m, pieces_of(m, kTileRows), 1);
    cols = step_of(n, pieces_of(n, kTileCols), use.cols);
    // few tiles: smaller ones, so that several threads find work
    const int64_t wanted = std::clamp<int64_t>(m * n * k / kPieceWork, 1, 16);
    int64_t tiles = pieces_of(m, rows) * pieces_of(n, cols);
    if (tiles >= wanted) return;
    if (m >= n) {
      rows = std::max(step_of(m, pieces_of(m, rows) * pieces_of(wanted, tiles), use.rows), 4 * use.rows);
    } else {
      cols = std::max(step_of(n, pieces_of(n, cols) * pieces_of(wanted, tiles), use.cols), use.cols);
    }
  }
};

template <class T>
void multiply_tiles(const Product<T>& p, TileDone done, bool flipped) {
  const Kernels<T>& use = kernels<T>();
  const Cut cut(use, p.m, p.n, p.k);
  const int64_t down = pieces_of(p.m, cut.rows), across = pieces_of(p.n, cut.cols);
  const bool share = down > 1 && p.k * p.n <= kSharedB;
  const int64_t all_cols = pieces_of(p.n, use.cols) * use.cols;
  const Scratch<T> panels(share ? all_cols * p.k : 0);
  if (share) use.pack_panels(p.n, p.k, p.b.data, p.b.row_stride, p.b.col_stride, panels.get());
  parallel_for(down * across, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i % down * cut.rows, col = i / down * cut.cols;
      const int64_t rows = std::min(cut.rows, p.m - row), cols = std::min(cut.cols, p.n - col);
      Tile<T> tile = p.tile(row, rows, col, cols);
      if (share) {
        tile.panels = panels.get();
        tile.first_col = col;
        tile.all_cols = all_cols;
      }
      multiply(use, tile, p.c.col_stride);
      if (done && flipped) done(col, col + cols, row, row + rows);
      if (done && !flipped) done(row, row + rows, col, col + cols);
    }
  });
}

}  // namespace

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, T alpha, MatrixView<const std::type_identity_t<T>> a,
          MatrixView<const std::type_identity_t<T>> b, T beta, MatrixView<std::type_identity_t<T>> c, TileDone done) {
  if (m == 0 || n == 0) return;
  const Product<T> p{m, n, k, alpha, a, b, beta, c};
  if (p.upright()) {
    multiply_tiles(p, done, false);
  } else {
    multiply_tiles(p.transposed(), done, true);
  }
}

template <class T>
void batched_gemm(int64_t batch, int64_t m, int64_t n, int64_t k, T alpha, MatrixView<const std::type_identity_t<T>> a,
                  MatrixView<const std::type_identity_t<T>> b, T beta, MatrixView<std::type_identity_t<T>> c,
                  BatchOffsets offsets) {
  if (batch == 0 || m == 0 || n == 0) return;
  const int64_t work = m * n * (k + 1);
  if (batch == 1 || work > 16 * kPieceWork) {  // few and large: over the tiles of each
    for (int64_t i = 0; i < batch; ++i) {
      const BatchOffset at = offsets(i);
      gemm<T>(m, n, k, alpha, {a.data + at.a, a.row_stride, a.col_stride}, {b.data + at.b, b.row_stride, b.col_stride},
              beta, {c.data + at.c, c.row_stride, c.col_stride});
    }
    return;
  }
  Product<T> p{m, n, k, alpha, a, b, beta, c};
  const bool flipped = !p.upright();
  if (flipped) p = p.transposed();
  const Kernels<T>& use = kernels<T>();
  parallel_for(batch, std::max<int64_t>(1, kPieceWork / work), [&](int64_t begin, int64_t end) {
    const Tile<T> first = p.tile(0, p.m, 0, p.n);
    const Scratch<T> scratch(use.scratch_size(first));
    for (int64_t i = begin; i < end; ++i) {
      const BatchOffset at = offsets(i);
      Tile<T> tile = first;
      tile.a += flipped ? at.b : at.a;
      tile.b += flipped ? at.a : at.b;
      tile.c += at.c;
      if (p.c.col_stride == 1 || p.n == 1) {
        use.multiply(tile, scratch.get());
      } else {
        multiply(use, tile, p.c.col_stride);
      }
    }
  });
}

template void gemm<float>(int64_t, int64_t, int64_t, float, MatrixView<const float>, MatrixView<const float>, float,
                          MatrixView<float>, TileDone);
template void gemm<double>(int64_t, int64_t, int64_t, double, MatrixView<const double>, MatrixView<const double>,
                           double, MatrixView<double>, TileDone);
template void batched_gemm<float>(int64_t, int64_t, int64_t, int64_t, float, MatrixView<const float>,
                                  MatrixView<const float>, float, MatrixView<float>, BatchOffsets);
template void batched_gemm<double>(int64_t, int64_t, int64_t, int64_t, double, MatrixView<const double>,
                                   MatrixView<const double>, double, MatrixView<double>, BatchOffsets);

}  // namespace tapegrad
