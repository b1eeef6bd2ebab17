// Matrix products whose left rows are runs of elements in memory: windows of a convolution, which overlap and need no
// copy. Also the transpositions before and after them.
#pragma once

#include <tapegrad/autograd/detail/pieces.h>

#include <algorithm>
#include <cstdint>

namespace tapegrad::runs {

/// `length` consecutive elements of a row of A, beginning at an offset. Before them, `skip` rows of B are left out.
struct Run {
  int64_t at, length, skip = 0;
};

/// The columns of B in panels: of three vectors, then of two; a single vector is a panel by itself.
struct Panels {
  int64_t columns, lanes;  // more than none; of a vector

  int64_t vectors() const { return pieces_of(columns, lanes); }
  int64_t padded() const { return vectors() * lanes; }  ///< columns of all panels
  int64_t count() const { return pieces_of(vectors(), 3); }
  int64_t wide() const { return std::max<int64_t>(0, vectors() - 2 * count()); }  ///< panels of three vectors
  int64_t first(int64_t panel) const { return (2 * panel + std::min(panel, wide())) * lanes; }  ///< column of B
  int64_t vectors(int64_t panel) const { return std::min(vectors(), panel < wide() ? int64_t{3} : int64_t{2}); }
  int64_t pitch(int64_t panel) const { return vectors(panel) * lanes; }  ///< elements of a row
  int64_t most_pitch() const { return pitch(0); }
  int64_t width(int64_t panel) const { return std::min(pitch(panel), columns - first(panel)); }
};

/// C = A B, or C += A B. Row i of A is the concatenation of the runs: elements a[a_rows[i] + at + q * step] for q <
/// length. B is a panel, contiguous: as many rows as the runs have elements, and those left out, of one to three
/// vectors.
template <class T>
struct Product {
  const Run* runs;
  int64_t count;  // of runs
  int64_t step;
  const T* a;
  const int64_t* a_rows;  // offsets
  int64_t rows;
  const T* panel;
  int64_t vectors;  // in a row of B and C
  T* c;
  const int64_t* c_rows;  // offsets
  bool add;
};

template <class T>
struct Kernels {
  int64_t lanes;                                // of a vector
  int64_t depth;                                // rows of a panel at a time, at most
  void (*multiply)(const Product<T>& product);  // called by runs::multiply
  /// to[i * pitch + p] = from[p * plane + i] for p < planes, i < n. Writes up to lanes - 1 more elements after each i,
  /// including the last one.
  void (*interleave)(int64_t planes, int64_t n, const T* from, int64_t plane, T* to, int64_t pitch);
  /// The same for planes anywhere in memory: to[i * pitch + p] = from[p][i].
  void (*interleave_list)(int64_t planes, int64_t n, const T* const* from, T* to, int64_t pitch);
  /// to[p * plane + i] = from[i * pitch + p] + bias[p]; writes no other elements, but reads whole vectors. bias may be
  /// nullptr.
  void (*separate)(int64_t planes, int64_t n, const T* from, int64_t pitch, const T* bias, T* to, int64_t plane);
};

/// The kernels of the family in use.
template <class T>
const Kernels<T>& kernels();

/// Computes a product in the calling thread.
template <class T>
void multiply(const Product<T>& product);

}  // namespace tapegrad::runs
