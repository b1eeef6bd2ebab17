// Tiles of matrix products from the innermost kernels, compiled for every instruction set.
#include <tapegrad/autograd/simd_targets.h>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/autograd/blas_kernels.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <utility>

#include <tapegrad/autograd/blas_kernels.h>
#include <tapegrad/autograd/blas_micro.h>
#include <tapegrad/autograd/kernels.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

using blas::kDepth;
using blas::Tile;

// k in equal blocks of at most kDepth.
HWY_INLINE int64_t block_depth(int64_t k) {
  const int64_t blocks = (k + kDepth - 1) / kDepth;
  return blocks == 0 ? 0 : (k + blocks - 1) / blocks;
}

// Rows in equal slivers of at most kMaxRows.
HWY_INLINE int64_t sliver_rows(int64_t m) {
  const int64_t slivers = (m + kMaxRows - 1) / kMaxRows;
  return (m + slivers - 1) / slivers;
}

// How a tile reads its operands: in place where that is as fast.
template <class T>
struct Plan {
  bool pack_a, rows_of_a, pack_b;

  HWY_INLINE explicit Plan(const Tile<T>& t) {
    const bool aliased = t.a_rows * int64_t{sizeof(T)} % 2048 == 0;  // rows that fall on the same lines of the cache
    rows_of_a = t.a_cols == 1;
    pack_a = rows_of_a ? aliased && t.m > 8 && t.n > 4 * kPanel<T> : true;
    pack_b = t.panels == nullptr && !(t.b_cols == 1 && t.m <= 2 * kMaxRows);
  }
  HWY_INLINE int64_t a_size(const Tile<T>& t, int64_t depth) const {
    if (!pack_a) return 0;
    if (rows_of_a) return t.m * depth;
    return (t.m + sliver_rows(t.m) - 1) / sliver_rows(t.m) * kSliver<T> * depth;
  }
};

template <class T>
int64_t scratch_size(const Tile<T>& t) {
  const int64_t depth = block_depth(t.k);
  return Plan<T>(t).a_size(t, depth) + kPanel<T> * (depth + 1) + 64;
}

template <class T>
void multiply(const Tile<T>& t, T* scratch) {
  if (t.m == 0 || t.n == 0) return;
  const Plan<T> plan(t);
  const int64_t depth = block_depth(t.k), high = sliver_rows(t.m);
  T* const packed_a = scratch + (kPanel<T> * depth + 15) / 16 * 16;
  int64_t begin = 0;
  do {  // once for k = 0 too: C = beta C
    const int64_t k = std::min(depth, t.k - begin);
    const T beta = begin == 0 ? t.beta : T(1);
    const T* const a = t.a + begin * t.a_cols;
    if (plan.pack_a) {
      T* to = packed_a;
      for (int64_t i = 0; i < t.m; i += high) {
        const int64_t rows = std::min(high, t.m - i);
        if (plan.rows_of_a) {
          for (int64_t r = 0; r < rows; ++r, to += k) std::memcpy(to, a + (i + r) * t.a_rows, k * sizeof(T));
        } else {
          pack_sliver(rows, k, a + i * t.a_rows, t.a_rows, t.a_cols, i + kSliver<T> <= t.m, to);
          to += kSliver<T> * k;
        }
      }
    }
    for (int64_t j = 0; j < t.n; j += kPanel<T>) {
      const int64_t width = std::min(kPanel<T>, t.n - j);
      const int vecs = width <= kLanes<T> ? 1 : 2;
      const T* b = t.b + begin * t.b_rows + j * t.b_cols;
      int64_t b_rows = t.b_rows;
      if (t.panels != nullptr) {
        b = t.panels + begin * t.all_cols + (t.first_col + j) * k;
        b_rows = vecs * kLanes<T>;
      } else if (plan.pack_b || width != vecs * kLanes<T>) {
        pack_panel(k, width, b, t.b_rows, t.b_cols, scratch);
        b = scratch;
        b_rows = vecs * kLanes<T>;
      }
      for (int64_t i = 0; i < t.m; i += high) {
        const int64_t rows = std::min(high, t.m - i);
        const Micro<T> micro = kMicro<T>.of[rows - 1][vecs - 1];
        T* const c = t.c + i * t.c_rows + j;
        if (!plan.pack_a) {
          micro(k, t.alpha, a + i * t.a_rows, t.a_rows, t.a_cols, b, b_rows, beta, c, t.c_rows, width);
        } else if (plan.rows_of_a) {
          micro(k, t.alpha, packed_a + i * k, k, 1, b, b_rows, beta, c, t.c_rows, width);
        } else {
          micro(k, t.alpha, packed_a + i / high * kSliver<T> * k, 1, kSliver<T>, b, b_rows, beta, c, t.c_rows, width);
        }
      }
    }
    begin += depth;
  } while (begin < t.k);
}

// Blocks of k one after another, in each the panels one after another, as multiply reads them.
template <class T>
void pack_panels(int64_t n, int64_t k, const T* b, int64_t b_rows, int64_t b_cols, T* panels) {
  const int64_t depth = block_depth(k);
  for (int64_t begin = 0; begin < k; begin += depth) {
    const int64_t rows = std::min(depth, k - begin);
    for (int64_t j = 0; j < n; j += kPanel<T>, panels += kPanel<T> * rows) {
      pack_panel(rows, std::min(kPanel<T>, n - j), b + begin * b_rows + j * b_cols, b_rows, b_cols, panels);
    }
  }
}

template <class T>
const blas::Kernels<T>* table() {
  static constexpr blas::Kernels<T> kTable{kMaxRows, kPanel<T>, multiply<T>, scratch_size<T>, pack_panels<T>};
  return &kTable;
}
const blas::Kernels<float>* table_float() { return table<float>(); }
const blas::Kernels<double>* table_double() { return table<double>(); }

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::blas {

HWY_EXPORT(table_float);
HWY_EXPORT(table_double);

template <>
const Kernels<float>& kernels<float>() {
  static const Kernels<float>& chosen = (kernel_family(), *HWY_DYNAMIC_DISPATCH(table_float)());
  return chosen;
}
template <>
const Kernels<double>& kernels<double>() {
  static const Kernels<double>& chosen = (kernel_family(), *HWY_DYNAMIC_DISPATCH(table_double)());
  return chosen;
}

}  // namespace tapegrad::blas
#endif
