// Computes tiles of matrix products with the innermost kernels; compiled for each instruction set.
#include <tapegrad/autograd/kernels/simd_targets.h>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/autograd/kernels/blas_kernels.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include <tapegrad/autograd/kernels/blas_dot.h>
#include <tapegrad/autograd/kernels/blas_kernels.h>
#include <tapegrad/autograd/kernels/blas_micro.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

using blas::kDepth;
using blas::Tile;

// k in equal blocks of at most kDepth.
HWY_INLINE int64_t block_depth(int64_t k) {
  const int64_t blocks = (k + kDepth - 1) / kDepth;
  return blocks == 0 ? 0 : (k + blocks - 1) / blocks;
}

// Rows in equal slivers of at most `most`.
HWY_INLINE int64_t sliver_rows(int64_t m, int64_t most = kMaxRows) {
  if (m <= most) return m;
  const int64_t slivers = (m + most - 1) / most;
  return (m + slivers - 1) / slivers;
}

constexpr int64_t kSmall = 4096;  // elements of an operand that fits L1 unpacked

// How a tile reads its operands: unpacked if that is as fast.
template <class T>
struct Plan {
  bool pack_a, rows_of_a, pack_b;

  HWY_INLINE explicit Plan(const Tile<T>& t) {
    rows_of_a = t.a_cols == 1;
    pack_a = rows_of_a ? blas::aliased<T>(t.a_rows, t.a_cols) && t.m > 8 && t.n > 4 * kPanel<T> : t.m * t.k > kSmall;
    pack_b = t.panels == nullptr && !(t.b_cols == 1 && (t.m <= 2 * kMaxRows || t.k * t.n <= kSmall));
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

// Prefetches one of `parts` parts of the next panel of B while the current one is multiplied; the parts cover all of
// it.
template <class T>
HWY_INLINE void fetch_part(int64_t part, int64_t parts, int64_t k, int64_t width, const T* b, int64_t b_rows,
                           int64_t b_cols) {
  constexpr int64_t kLine = 64 / sizeof(T);
  if (b_cols == 1) {
    for (int64_t p = k * part / parts; p < k * (part + 1) / parts; ++p) {
      hwy::Prefetch(b + p * b_rows);
      hwy::Prefetch(b + p * b_rows + width - 1);
    }
  } else {
    const int64_t lines = (k + kLine - 1) / kLine;
    for (int64_t at = lines * width * part / parts; at < lines * width * (part + 1) / parts; ++at) {
      hwy::Prefetch(b + at / lines * b_cols + at % lines * kLine);
    }
  }
}

// Few rows times columns that are contiguous along k.
template <int kRows, class T>
void dot_tile(const Tile<T>& t) {
  dot_rows<kRows>(t.n, t.k, t.a, t.a_rows, t.b, t.b_cols, [&](int i, int64_t j, T sum) {
    T& c = t.c[i * t.c_rows + j];
    c = t.alpha * sum + (t.beta == 0 ? T(0) : t.beta * c);
  });
}

template <class T>
void multiply(const Tile<T>& t, T* scratch) {
  if (t.m == 0 || t.n == 0) return;
  if (t.m <= blas::kDotRows && t.k >= 4 * kLanes<T> && t.a_cols == 1 && t.b_rows == 1 && t.panels == nullptr) {
    return t.m == 1 ? dot_tile<1>(t) : t.m == 2 ? dot_tile<2>(t) : dot_tile<3>(t);
  }
  const Plan<T> plan(t);
  const int64_t depth = block_depth(t.k), high = sliver_rows(t.m), slivers = (t.m + high - 1) / high;
  T* const packed_a = scratch + (kPanel<T> * depth + 15) / 16 * 16;
  int64_t begin = 0;
  do {  // once also for k = 0: C = beta C
    const int64_t k = std::min(depth, t.k - begin);
    const T beta = begin == 0 ? t.beta : T(1);
    const T* const a = t.a + begin * t.a_cols;
    if (plan.pack_a && plan.rows_of_a) {
      for (int64_t i = 0; i < t.m; ++i) std::memcpy(packed_a + i * k, a + i * t.a_rows, k * sizeof(T));
    } else if (plan.pack_a) {
      pack_slivers(t.m, high, k, a, t.a_rows, t.a_cols, packed_a);
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
        b_rows = vecs * kLanes<T>;
        pack_panel(k, width, b, t.b_rows, t.b_cols, b_rows, scratch);
        b = scratch;
      }
      const int64_t next = j + kPanel<T>, next_width = std::min(kPanel<T>, t.n - next);
      const bool tall = vecs == 1 && (!plan.pack_a || plan.rows_of_a);
      const int64_t step = tall ? sliver_rows(t.m, kTallRows) : high;
      for (int64_t i = 0; i < t.m; i += step) {
        if (plan.pack_b && next_width > 0) {
          fetch_part(i / step, slivers, k, next_width, t.b + begin * t.b_rows + next * t.b_cols, t.b_rows, t.b_cols);
        }
        const int64_t rows = std::min(step, t.m - i);
        const Micro<T> micro = vecs == 1 ? kMicro<T>.narrow[rows - 1] : kMicro<T>.wide[rows - 1];
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

// Consecutive blocks of k, each with consecutive panels, in the order in which multiply reads them.
template <class T>
void pack_panels(int64_t n, int64_t k, const T* b, int64_t b_rows, int64_t b_cols, int64_t first_panel,
                 int64_t last_panel, T* panels) {
  const int64_t depth = block_depth(k), all_cols = (n + kPanel<T> - 1) / kPanel<T> * kPanel<T>;
  for (int64_t begin = 0; begin < k; begin += depth) {
    const int64_t rows = std::min(depth, k - begin);
    for (int64_t panel = first_panel; panel < last_panel; ++panel) {
      const int64_t j = panel * kPanel<T>, width = std::min(kPanel<T>, n - j);
      pack_panel(rows, width, b + begin * b_rows + j * b_cols, b_rows, b_cols,
                 width <= kLanes<T> ? kLanes<T> : kPanel<T>, panels + begin * all_cols + j * rows);
    }
  }
}

template <class T>
void micro_packed(int64_t m, int64_t n, int64_t k, T alpha, const T* sliver, const T* panel, T beta, T* c,
                  int64_t c_rows) {
  const Micro<T> micro = n > kLanes<T> ? kMicro<T>.wide[m - 1] : kMicro<T>.narrow[m - 1];
  micro(k, alpha, sliver, 1, kSliver<T>, panel, kPanel<T>, beta, c, c_rows, n);
}

template <class T>
void pack_one_sliver(int64_t m, int64_t k, const T* a, int64_t a_rows, int64_t a_cols, T* to) {
  if (m < kMaxRows) std::fill(to, to + kSliver<T> * k, T(0));
  if (a_cols == 1 && m == kMaxRows) {
    for (int64_t i = 0; i < m; i += kLanes<T>) {
      transpose_lanes(k, std::min(kLanes<T>, m - i), a + i * a_rows, a_rows, to + i, kSliver<T>);
    }
  } else {
    pack_slivers(m, m, k, a, a_rows, a_cols, to);
  }
}

template <class T>
void pack_one_panel(int64_t n, int64_t k, const T* b, int64_t b_rows, int64_t b_cols, T* to) {
  if (n < kPanel<T>) std::fill(to, to + kPanel<T> * k, T(0));
  pack_panel(k, n, b, b_rows, b_cols, kPanel<T>, to);
}

template <class T>
const blas::Kernels<T>& table() {
  static constexpr blas::Kernels<T> kTable{kMaxRows,        kPanel<T>,          kSliver<T>,
                                           multiply<T>,     scratch_size<T>,    pack_panels<T>,
                                           micro_packed<T>, pack_one_sliver<T>, pack_one_panel<T>};
  return kTable;
}
const blas::Kernels<float>& table_float() { return table<float>(); }
const blas::Kernels<double>& table_double() { return table<double>(); }

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::blas {

HWY_EXPORT(table_float);
HWY_EXPORT(table_double);

template <>
const Kernels<float>& kernels<float>() {
  return chosen<HWY_DISPATCH_TABLE(table_float)>();
}
template <>
const Kernels<double>& kernels<double>() {
  return chosen<HWY_DISPATCH_TABLE(table_double)>();
}

}  // namespace tapegrad::blas
#endif
