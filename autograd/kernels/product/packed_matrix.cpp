// PackedMatrix: one packed operand for many products with few rows.
#include <tapegrad/autograd/detail/pieces.h>
#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/kernels/product/blas.h>
#include <tapegrad/autograd/kernels/product/blas_blis.h>
#include <tapegrad/autograd/kernels/product/blas_choice.h>
#include <tapegrad/autograd/kernels/product/blas_kernels.h>
#include <tapegrad/autograd/kernels/product/engines.h>
#include <tapegrad/autograd/parallel.h>

#include <algorithm>

namespace tapegrad {
namespace {

using blas::kernels;
using blas::kPackWork;
using blas::kPieceWork;

static_assert(kPackedDepth == blas::kDepth);

// Memory of a packed matrix with k rows.
template <class T>
std::size_t packed_bytes(int64_t k, int64_t panels) {
  return static_cast<std::size_t>(std::max<int64_t>(1, panels * kernels<T>().cols * k)) * sizeof(T);
}

}  // namespace

template <class T>
PackedMatrix<T>::PackedMatrix(int64_t k, int64_t n, MatrixView<const std::type_identity_t<T>> b)
    : on_blis_(blas::always_on_blis<T>()), k_(k), n_(n), panels_(pieces_of(n, kernels<T>().cols)) {
  packed_ = static_cast<T*>(pool::acquire(packed_bytes<T>(k, panels_)));
  if (on_blis_) {
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t j = 0; j < n; ++j) packed_[p * n + j] = b.data[p * b.row_stride + j * b.col_stride];
    }
    return;
  }
  const int64_t cols = kernels<T>().cols;
  parallel_for(panels_, std::max<int64_t>(1, kPackWork / (cols * (k + 1))), [&](int64_t begin, int64_t end) {
    kernels<T>().pack_panels(n, k, b.data, b.row_stride, b.col_stride, begin, end, packed_);
  });
}

template <class T>
PackedMatrix<T>::~PackedMatrix() {
  pool::release(packed_, packed_bytes<T>(k_, panels_));
}

template <class T>
void PackedMatrix<T>::multiply_panels(int64_t m, const Part& part, T alpha, const T* a, int64_t a_rows, T beta, T* c,
                                      int64_t c_rows) const {
  const int64_t cols = kernels<T>().cols, first = part.first * cols, end = std::min(n_, part.last * cols);
  blas::Tile<T> tile{m, end - first, part.depth, alpha, a, a_rows, 1, nullptr, n_, 1, beta, c + first, c_rows};
  if (on_blis_) {
    tile.b = packed_ + part.begin * n_ + first;
    return blas::multiply_on_blis(tile);
  }
  // A panel of a block is packed by rows: if there are fewer of them, they are its beginning.
  const T* const block = packed_ + part.begin * panels_ * cols;
  const int64_t rows = std::min(kPackedDepth, k_ - part.begin);
  tile.panels = part.depth >= rows ? blas::Shared<T>{block, first, panels_ * cols}
                                   : blas::Shared<T>{block + first * rows, 0, cols};
  const Scratch<T> scratch(kernels<T>().scratch_size(tile));
  kernels<T>().multiply(tile, scratch.get());
}

template <class T>
void PackedMatrix<T>::multiply(int64_t m, const T* a, int64_t a_rows, T beta, T* c, int64_t c_rows) const {
  count_product(on_blis_ ? Engine::blis : Engine::packed, m * n_ * k_);
  const int64_t work = std::max<int64_t>(m, 6) * kernels<T>().cols * (k_ + 1);
  parallel_for(panels_, std::max<int64_t>(1, kPieceWork / work), [&](int64_t begin, int64_t end) {
    multiply_any(m, {0, k_, begin, end}, T{1}, a, a_rows, beta, c, c_rows);
  });
}

template <class T>
void PackedMatrix<T>::multiply_part(int64_t m, int64_t cols, int64_t depth, T alpha, const T* a, int64_t a_rows, T beta,
                                    T* c, int64_t c_rows) const {
  multiply_any(m, {0, depth, 0, pieces_of(cols, kernels<T>().cols)}, alpha, a, a_rows, beta, c, c_rows);
}

template <class T>
void PackedMatrix<T>::multiply_any(int64_t m, const Part& part, T alpha, const T* a, int64_t a_rows, T beta, T* c,
                                   int64_t c_rows) const {
  const int64_t depth = part.depth, half = first_part(depth);
  if (half < depth) {
    const int64_t first = part.first * kernels<T>().cols, end = std::min(n_, part.last * kernels<T>().cols);
    const Scratch<T> sums(m * end);
    multiply_any(m, {part.begin, half, part.first, part.last}, alpha, a, a_rows, beta, c, c_rows);
    multiply_any(m, {part.begin + half, depth - half, part.first, part.last}, alpha, a + half, a_rows, T{0}, sums.get(),
                 end);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = first; j < end; ++j) c[i * c_rows + j] += sums.get()[i * end + j];
    }
    return;
  }
  const int64_t whole = part.begin + depth == k_ || on_blis_ ? depth : depth / kPackedDepth * kPackedDepth;
  if (whole > 0 || depth == 0) {
    multiply_panels(m, {part.begin, whole, part.first, part.last}, alpha, a, a_rows, beta, c, c_rows);
  }
  if (whole == depth) return;
  // The beginning of a block is read panel by panel.
  for (int64_t panel = part.first; panel < part.last; ++panel) {
    multiply_panels(m, {part.begin + whole, depth - whole, panel, panel + 1}, alpha, a + whole, a_rows,
                    whole > 0 ? T{1} : beta, c, c_rows);
  }
}

template class PackedMatrix<float>;
template class PackedMatrix<double>;

}  // namespace tapegrad
