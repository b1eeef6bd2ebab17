// The kernels of matrix products, one table per kernel family; only blas.cpp uses them.
#pragma once

#include <tapegrad/autograd/kernels/product/matrix_view.h>

#include <cstdint>

namespace tapegrad::blas {

/// An operand that is packed once for all tiles, as the packing functions below do it.
template <class T>
struct Shared {
  const T* data = nullptr;     // all of it; nullptr if each tile reads its own part, unpacked
  int64_t first = 0, all = 0;  // the tile's first row of A or column of B in it, and the number of packed ones
  int64_t near = 0;            // elements of it that stay in L2
};

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
  Shared<T> slivers = {};  // of A, by pack_slivers
  Shared<T> panels = {};   // of B, by pack_panels
  bool fetch_b = false;    // B comes from memory, not from a cache: a few rows fetch what they read later into L2
};

/// Packs `count` rows of A, or columns of B: to[p * strip + i] = from[i * step + p * along] for i < count and p < k,
/// with zeros up to the strip of the micro-kernel.
template <class T>
using PackStrip = void (*)(int64_t count, int64_t k, const T* from, int64_t step, int64_t along, T* to);

template <class T>
struct Kernels {
  int64_t rows, cols;  // of C that one call of the innermost kernel holds in registers

  /// Computes a tile in the calling thread; `scratch` holds scratch_size(tile) elements, 64-byte aligned.
  void (*multiply)(const Tile<T>& tile, T* scratch);
  int64_t (*scratch_size)(const Tile<T>& tile);

  /// Packs B [k, n] for tiles that share it: panels from first_panel up to last_panel, of all panels_size(n, k)
  /// elements.
  void (*pack_panels)(int64_t n, int64_t k, const T* b, int64_t b_rows, int64_t b_cols, int64_t first_panel,
                      int64_t last_panel, T* panels);

  /// Packs A [m, k], k > 0, for tiles that share it: slivers of `rows` rows, from first_sliver up to last_sliver.
  void (*pack_slivers)(int64_t m, int64_t k, const T* a, int64_t a_rows, int64_t a_cols, int64_t first_sliver,
                       int64_t last_sliver, T* slivers);

  /// to[j * to_cols + i] = from[i * from_rows + j] for i < m, j < n; writes no other elements.
  void (*store_turned)(int64_t m, int64_t n, const T* from, int64_t from_rows, T* to, int64_t to_cols);

  /// For BLIS's micro-kernels: the rows of A in a packed sliver (a packed panel has `cols` columns of B), the packing
  /// of both, and the rows of their A that are packed at once, for half of L2.
  int64_t blis_rows;
  PackStrip<T> pack_blis_sliver, pack_panel;
  int64_t blis_block;
};

/// The most rows of A for which columns of B that are contiguous along k are not packed, but transposed in registers.
inline constexpr int64_t kUnpackedRows = 4;

/// Whether the rows of A, each contiguous, map to the same cache lines.
template <class T>
bool aliased(int64_t a_rows, int64_t a_cols) {
  return a_cols == 1 && a_rows * int64_t{sizeof(T)} % 2048 == 0;
}

/// The kernels of the family in use.
template <class T>
const Kernels<T>& kernels();

}  // namespace tapegrad::blas
