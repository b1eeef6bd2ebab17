// Products of matrices.
#include <tapegrad/autograd/blas.h>
#include <tapegrad/autograd/parallel.h>

#include <algorithm>

namespace tapegrad {
namespace {

// Rows [begin, end) of C, one after another.
template <class T>
void plain_rows(int64_t begin, int64_t end, int64_t n, int64_t k, T alpha, MatrixView<const T> a, MatrixView<const T> b,
                T beta, MatrixView<T> c) {
  for (int64_t i = begin; i < end; ++i) {
    T* row = c.data + i * c.row_stride;
    for (int64_t j = 0; j < n; ++j) row[j * c.col_stride] = beta == 0 ? 0 : beta * row[j * c.col_stride];
    for (int64_t p = 0; p < k; ++p) {
      const T scaled = alpha * a.data[i * a.row_stride + p * a.col_stride];
      const T* from = b.data + p * b.row_stride;
      for (int64_t j = 0; j < n; ++j) row[j * c.col_stride] += scaled * from[j * b.col_stride];
    }
  }
}

}  // namespace

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, T alpha, MatrixView<const std::type_identity_t<T>> a,
          MatrixView<const std::type_identity_t<T>> b, T beta, MatrixView<std::type_identity_t<T>> c, TileDone done) {
  if (n == 0) return;
  parallel_for(m, std::max<int64_t>(1, 500000 / (n * (k + 1))), [&](int64_t begin, int64_t end) {
    plain_rows(begin, end, n, k, alpha, a, b, beta, c);
    if (done) done(begin, end, 0, n);
  });
}

template <class T>
void batched_gemm(int64_t batch, int64_t m, int64_t n, int64_t k, T alpha, MatrixView<const std::type_identity_t<T>> a,
                  MatrixView<const std::type_identity_t<T>> b, T beta, MatrixView<std::type_identity_t<T>> c,
                  BatchOffsets offsets) {
  parallel_for(batch, std::max<int64_t>(1, 500000 / (m * n * (k + 1) + 1)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const BatchOffset at = offsets(i);
      plain_rows<T>(0, m, n, k, alpha, {a.data + at.a, a.row_stride, a.col_stride},
                    {b.data + at.b, b.row_stride, b.col_stride}, beta, {c.data + at.c, c.row_stride, c.col_stride});
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
