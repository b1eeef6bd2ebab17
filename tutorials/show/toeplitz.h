// Products with a Toeplitz matrix by Fourier transforms, in O(n log n).
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <complex>
#include <cstdint>
#include <vector>

namespace tapegrad::tasks {

// The matrix t[i - j] of n rows and columns.
class Toeplitz {
 public:
  // `diagonals` float64 [2 n - 1]: t from distance 1 - n to n - 1. Error for another type, or an even number.
  explicit Toeplitz(const Tensor& diagonals);

  Tensor matrix() const;  // [n, n]
  // x float64 [n, C] -> [n, C]: the first n rows of the product with a circulant matrix, whose size is a power of 2 of
  // at least 2 n - 1. The eigenvectors of a circulant matrix are the waves of the Fourier transform (Golub, Van
  // Loan, 4.7 and 4.8). Error for another type or shape.
  Tensor times(const Tensor& x);
  // Multiplications of real numbers in all calls of times() so far, and in the transform of the matrix.
  int64_t multiplications() const { return multiplications_; }

 private:
  using Wave = std::vector<std::complex<double>>;
  void transform(Wave& x, bool inverse);

  Tensor diagonals_;
  int64_t n_;
  Wave roots_;        // exp(-2 pi i k / m), the first half
  Wave eigenvalues_;  // of the circulant matrix
  int64_t multiplications_ = 0;
};

}  // namespace tapegrad::tasks
