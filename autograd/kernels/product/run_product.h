// Matrix products whose left rows are runs of elements in memory: windows of a convolution, which overlap and need no
// copy. Also the transpositions before and after them.
#pragma once

#include <cstdint>

namespace tapegrad::runs {

/// `length` consecutive elements of a row of A, beginning at an offset.
struct Run {
  int64_t at, length;
};

/// C = A B, or C += A B. Row i of A is the concatenation of the runs: elements a[a_rows[i] + at + q * step] for q <
/// length. B is a panel, contiguous: as many rows as the runs have elements, of one vector or two.
template <class T>
struct Product {
  const Run* runs;
  int64_t count;  // of runs
  int64_t step;
  const T* a;
  const int64_t* a_rows;  // offsets
  int64_t rows;
  const T* panel;
  bool wide;  // two vectors in a row of B and C
  T* c;
  const int64_t* c_rows;  // offsets
  bool add;
};

template <class T>
struct Kernels {
  int64_t cols;                                 // of a wide panel: two vectors
  void (*multiply)(const Product<T>& product);  // called by runs::multiply
  /// to[i * pitch + p] = from[p * plane + i] for p < planes, i < n. Writes up to cols / 2 - 1 more elements after each
  /// i, including the last one.
  void (*interleave)(int64_t planes, int64_t n, const T* from, int64_t plane, T* to, int64_t pitch);
  /// The same for planes anywhere in memory: to[i * pitch + p] = from[p][i].
  void (*interleave_list)(int64_t planes, int64_t n, const T* const* from, T* to, int64_t pitch);
  /// to[p * plane + i] = from[i * pitch + p] + bias[p]; writes no other elements. bias may be nullptr.
  void (*separate)(int64_t planes, int64_t n, const T* from, int64_t pitch, const T* bias, T* to, int64_t plane);
};

/// The kernels of the family in use.
template <class T>
const Kernels<T>& kernels();

/// Computes a product in the calling thread.
template <class T>
void multiply(const Product<T>& product);

}  // namespace tapegrad::runs
