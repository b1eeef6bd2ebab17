// The kernels under matrix products, one table a family; blas.cpp is their only user.
#pragma once

#include <cstdint>

namespace tapegrad::blas {

/// One tile of work for one thread: C = alpha A B + beta C, C with contiguous rows.
template <class T>
struct Tile {
  int64_t m, n, k;
  T alpha;
  const T* a;
  int64_t a_rows, a_cols;  // strides in elements
  const T* b;
  int64_t b_rows, b_cols;
  T beta;
  T* c;
  int64_t c_rows;
  const T* panels = nullptr;            // all of B as pack_panels left it, where tiles share that
  int64_t first_col = 0, all_cols = 0;  // this tile's place in it, and its columns as packed
};

template <class T>
struct Kernels {
  int64_t rows, cols;  // of C that one call of the innermost kernel holds in registers

  /// Does a tile in the calling thread; `scratch` holds scratch_size(tile) elements, 64-byte aligned.
  void (*multiply)(const Tile<T>& tile, T* scratch);
  int64_t (*scratch_size)(const Tile<T>& tile);

  /// Packs B [k, n] for tiles that share it: panels_size(n, k) elements.
  void (*pack_panels)(int64_t n, int64_t k, const T* b, int64_t b_rows, int64_t b_cols, T* panels);
};

/// k is cut into blocks of this size at most, so that a panel of B stays in the first cache.
inline constexpr int64_t kDepth = 256;

/// The kernels of the family in use.
template <class T>
const Kernels<T>& kernels();

}  // namespace tapegrad::blas
