// Matrix products, single or batched, for rows and columns of any stride.
#pragma once

#include <cstdint>
#include <type_traits>

#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/autograd/kernels/product/engines.h>
#include <tapegrad/autograd/kernels/product/matrix_view.h>

namespace tapegrad {

/// A reference to a function that is called with the rows [row_begin, row_end) and columns [col_begin, col_end) of each
/// finished tile of C, on the thread that computed it. It must not start another product.
class Epilogue {
 public:
  Epilogue() = default;
  template <class F>
  requires(!std::is_same_v<F, Epilogue>) Epilogue(const F& f)  // NOLINT: a lambda converts
      : f_(&f), call_([](const void* f, int64_t row_begin, int64_t row_end, int64_t col_begin, int64_t col_end) {
          (*static_cast<const F*>(f))(row_begin, row_end, col_begin, col_end);
        }) {}
  explicit operator bool() const { return call_ != nullptr; }
  void operator()(int64_t row_begin, int64_t row_end, int64_t col_begin, int64_t col_end) const {
    call_(f_, row_begin, row_end, col_begin, col_end);
  }

 private:
  const void* f_ = nullptr;
  void (*call_)(const void*, int64_t, int64_t, int64_t, int64_t) = nullptr;
};

/// C = alpha A B + beta C with A [m, k], B [k, n], C [m, n], for float and double. With beta = 0 the old C is not read;
/// NaN and infinities in A and B propagate, also if alpha is 0. The elements of C must be distinct. In parallel over
/// tiles of C; the order of every sum depends only on the sizes.
template <class T>
void gemm(int64_t m, int64_t n, int64_t k, T alpha, MatrixView<const std::type_identity_t<T>> a,
          MatrixView<const std::type_identity_t<T>> b, T beta, MatrixView<std::type_identity_t<T>> c,
          Epilogue done = {});

namespace blas {
/// The same by the given choice instead of products(), in the same bits.
template <class T>
void gemm(Products products, int64_t m, int64_t n, int64_t k, T alpha, MatrixView<const std::type_identity_t<T>> a,
          MatrixView<const std::type_identity_t<T>> b, T beta, MatrixView<std::type_identity_t<T>> c,
          Epilogue done = {});

/// What computes x [m, k] times weight [n, k] transposed, in float32.
Engine engine_of_linear(int64_t m, int64_t n, int64_t k);
}  // namespace blas

/// The matrices of one product of a batch: offsets, in elements, from the data of A, B and C.
struct BatchOffset {
  int64_t a = 0, b = 0, c = 0;
};

/// A reference to a function from an index in the batch to its offsets; called on any thread, once or more.
class BatchOffsets {
 public:
  template <class F>
  requires(!std::is_same_v<F, BatchOffsets>) BatchOffsets(const F& f)  // NOLINT: a lambda converts
      : f_(&f), call_([](const void* f, int64_t index) -> BatchOffset { return (*static_cast<const F*>(f))(index); }) {}
  BatchOffset operator()(int64_t index) const { return call_(f_, index); }

 private:
  const void* f_;
  BatchOffset (*call_)(const void*, int64_t);
};

/// The same for each index of a batch: C_i = alpha A_i B_i + beta C_i, where A_i is `a` moved by offsets(i).a and so
/// on. Several i may have the same A_i or B_i, but not the same C_i. In parallel over the batch, and over tiles if the
/// products are few and large.
template <class T>
void batched_gemm(int64_t batch, int64_t m, int64_t n, int64_t k, T alpha, MatrixView<const std::type_identity_t<T>> a,
                  MatrixView<const std::type_identity_t<T>> b, T beta, MatrixView<std::type_identity_t<T>> c,
                  BatchOffsets offsets);

/// A longer sum along k is made of two, the first of which has first_part(k) terms: rounding errors then grow with the
/// logarithm of k.
inline constexpr int64_t kLongestSum = int64_t{1} << 16;
/// All of k or, of more than kLongestSum, the largest power of two below k. Zeros at the end change no sum.
constexpr int64_t first_part(int64_t k) {
  if (k <= kLongestSum) return k;
  int64_t part = kLongestSum;
  while (2 * part < k) part *= 2;
  return part;
}

/// The rows of a block of B: a product of more rows adds the sums of several blocks.
inline constexpr int64_t kPackedDepth = 256;

/// B [k, n] packed in the order in which the kernels read it, for many products with few rows each.
template <class T>
class PackedMatrix : NonCopyable {
 public:
  PackedMatrix(int64_t k, int64_t n, MatrixView<const std::type_identity_t<T>> b);
  ~PackedMatrix();

  /// C = A B + beta C with A [m, k] and C [m, n] of contiguous rows; in parallel over the columns.
  void multiply(int64_t m, const T* a, int64_t a_rows, T beta, T* c, int64_t c_rows) const;
  /// C = alpha A B + beta C with the first `depth` rows and the first `cols` columns of B alone, on the calling thread.
  /// Later columns of C may be written, too, as far as B has them.
  void multiply_part(int64_t m, int64_t cols, int64_t depth, T alpha, const T* a, int64_t a_rows, T beta, T* c,
                     int64_t c_rows) const;

 private:
  // Some panels of B, or of its rows from `begin` on.
  struct Part {
    int64_t begin, depth;
    int64_t first, last;
  };
  void multiply_panels(int64_t m, const Part& part, T alpha, const T* a, int64_t a_rows, T beta, T* c,
                       int64_t c_rows) const;
  // Any `depth`.
  void multiply_any(int64_t m, const Part& part, T alpha, const T* a, int64_t a_rows, T beta, T* c,
                    int64_t c_rows) const;

  const bool on_blis_;  // packed_ is then B itself, with contiguous rows
  int64_t k_, n_;
  int64_t panels_;  // with as many columns as the kernel, the last one possibly fewer
  T* packed_;
};

}  // namespace tapegrad
