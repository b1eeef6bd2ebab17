// Computes tiles of matrix products with the innermost kernels; compiled for each instruction set.
// build: -O2
#include <tapegrad/autograd/kernels/simd/simd_targets.h>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/autograd/kernels/product/blas_kernels.cpp"
#include <hwy/foreach_target.h>

#include <tapegrad/autograd/kernels/product/blas_few.h>
#include <tapegrad/autograd/kernels/product/blas_kernels.h>
#include <tapegrad/autograd/kernels/product/blas_micro.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

using blas::block_depth;
using blas::Tile;

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
  bool by_slivers;  // multiply a sliver of A by all panels, not a panel of B by all slivers

  HWY_INLINE explicit Plan(const Tile<T>& t) {
    rows_of_a = t.a_cols == 1;
    pack_a = t.slivers.data == nullptr &&
             (rows_of_a ? blas::aliased<T>(t.a_rows, t.a_cols) && t.m > 8 && t.n > 4 * kPanel<T> : t.m * t.k > kSmall);
    pack_b = t.panels.data == nullptr && !(t.b_cols == 1 && (t.m <= 2 * kMaxRows || t.k * t.n <= kSmall));
    by_slivers = rows_of_a && t.panels.data != nullptr && t.n > kPanel<T> && t.n * block_depth(t.k) <= t.panels.near;
  }
  HWY_INLINE int64_t a_size(const Tile<T>& t, int64_t depth) const {
    if (!pack_a) return 0;
    const int64_t high = sliver_rows(t.m), m = by_slivers ? high : t.m;
    return rows_of_a ? m * depth : (m + high - 1) / high * kMaxRows * depth;
  }
};

template <class T>
int64_t scratch_size(const Tile<T>& t) {
  const int64_t depth = block_depth(t.k);
  return Plan<T>(t).a_size(t, depth) + kPanel<T> * (depth + 1) + 64;
}

// The lines of one of `parts` parts of `rows` rows (or columns) with k elements each; the parts cover all of them.
template <class T>
HWY_INLINE Lines<T> lines_of_rows(int64_t part, int64_t parts, int64_t k, int64_t rows, const T* from, int64_t step) {
  constexpr int64_t kLine = 64 / sizeof(T);
  const int64_t lines = (k + kLine - 1) / kLine, first = lines * part / parts, last = lines * (part + 1) / parts;
  return {from + first * kLine, step, rows, rows * (last - first)};
}

// The same for parts of k rows of `width` elements.
template <class T>
HWY_INLINE Lines<T> lines_of_panel(int64_t part, int64_t parts, int64_t k, int64_t width, const T* from, int64_t step) {
  constexpr int64_t kLine = 64 / sizeof(T);
  const int64_t first = k * part / parts, rows = k * (part + 1) / parts - first;
  return {from + first * step, step, rows, rows * ((width + kLine - 1) / kLine)};
}

// The part of a tile's product that belongs to the rows [begin, begin + k) of B.
template <class T>
class Block {
 public:
  HWY_INLINE Block(const Tile<T>& t, const Plan<T>& plan, int64_t begin, int64_t k, int64_t depth, T* scratch)
      : t_(t),
        plan_(plan),
        begin_(begin),
        k_(k),
        high_(t.slivers.data != nullptr ? std::min<int64_t>(kMaxRows, t.m) : sliver_rows(t.m)),
        beta_(begin == 0 ? t.beta : T(1)),
        a_(t.a + begin * t.a_cols),
        panel_(scratch),
        packed_a_(scratch + (kPanel<T> * depth + 15) / 16 * 16) {}

  // Each panel of B stays in L1 while all of A is multiplied by it.
  void by_panels() const {
    pack(0, t_.m);
    // There is one panel, so that no other one has read the next rows of A before.
    const bool reads_a_once = t_.n <= kPanel<T> && t_.panels.data != nullptr && t_.slivers.data == nullptr &&
                              plan_.rows_of_a && !plan_.pack_a && k_ > 0;
    for (int64_t j = 0; j < t_.n; j += kPanel<T>) {
      const int64_t width = std::min(kPanel<T>, t_.n - j), next = j + kPanel<T>;
      const int64_t next_width = std::min(kPanel<T>, t_.n - next);
      Panel b = panel(j, width);
      // The first sliver is multiplied by the unpacked panel, and packs it.
      const bool keeps = sizeof(T) == sizeof(float) && plan_.pack_b && t_.b_cols == 1 && width == kPanel<T> &&
                         high_ > kMaxRows - 2 && t_.m > high_;
      if (plan_.pack_b && !keeps) b = packed(b, width);
      const bool tall = width <= kLanes<T> && t_.slivers.data == nullptr && (!plan_.pack_a || plan_.rows_of_a);
      const int64_t step = tall ? sliver_rows(t_.m, kTallRows) : high_, slivers = (t_.m + step - 1) / step;
      for (int64_t i = 0; i < t_.m; i += step) {
        Lines<T> ahead;
        if (plan_.pack_b && next_width > 0) {
          const T* const from = t_.b + begin_ * t_.b_rows + next * t_.b_cols;
          ahead = t_.b_cols == 1 ? lines_of_panel(i / step, slivers, k_, next_width, from, t_.b_rows)
                                 : lines_of_rows(i / step, slivers, k_, next_width, from, t_.b_cols);
        }
        if (reads_a_once && i + step < t_.m) {
          ahead = lines_of_rows(0, 1, k_, std::min(step, t_.m - i - step), a_ + (i + step) * t_.a_rows, t_.a_rows);
          ahead.at_once = ahead.count * 16 / k_ + 1;
        }
        const Sliver a = sliver(i, 0);
        if (keeps && i == 0) {
          if constexpr (sizeof(T) == sizeof(float))
            kMicroKeep<T>[kMaxRows - high_](k_, t_.alpha, a.data, a.rows, a.cols, b.data, b.rows, beta_, t_.c + j,
                                            t_.c_rows, panel_, ahead);
          b = {panel_, kPanel<T>};
        } else {
          multiply(i, std::min(step, t_.m - i), j, width, a, b, ahead);
        }
      }
    }
  }

  // Each sliver of A stays in L1 while all of B, which is packed and in L2, is multiplied by it.
  void by_slivers() const {
    const int64_t panels = (t_.n + kPanel<T> - 1) / kPanel<T>;
    for (int64_t i = 0; i < t_.m; i += high_) {
      const int64_t rows = std::min(high_, t_.m - i), next = i + high_, next_rows = std::min(high_, t_.m - next);
      pack(i, i + rows);
      const Sliver a = sliver(i, i);
      for (int64_t j = 0; j < t_.n; j += kPanel<T>) {
        Lines<T> ahead;
        if (next_rows > 0 && t_.slivers.data == nullptr) {
          ahead = lines_of_rows(j / kPanel<T>, panels, k_, next_rows, a_ + next * t_.a_rows, t_.a_rows);
        }
        const int64_t width = std::min(kPanel<T>, t_.n - j);
        multiply(i, rows, j, width, a, panel(j, width), ahead);
      }
    }
  }

 private:
  struct Sliver {
    const T* data;
    int64_t rows, cols;  // strides
  };
  struct Panel {
    const T* data;
    int64_t rows;
  };

  // Packs the rows [first, end) of A, if the plan says so.
  HWY_INLINE void pack(int64_t first, int64_t end) const {
    if (!plan_.pack_a) return;
    if (plan_.rows_of_a) {
      for (int64_t i = first; i < end; ++i) {
        std::memcpy(packed_a_ + (i - first) * k_, a_ + i * t_.a_rows, k_ * sizeof(T));
      }
    } else {
      pack_slivers(end - first, high_, k_, a_ + first * t_.a_rows, t_.a_rows, t_.a_cols, packed_a_);
    }
  }

  // The sliver that begins at row i, if rows from `first` on are packed.
  HWY_INLINE Sliver sliver(int64_t i, int64_t first) const {
    if (t_.slivers.data != nullptr) {
      return {t_.slivers.data + begin_ * t_.slivers.all + (t_.slivers.first + i) * k_, 1, kMaxRows};
    }
    if (!plan_.pack_a) return {a_ + i * t_.a_rows, t_.a_rows, t_.a_cols};
    if (plan_.rows_of_a) return {packed_a_ + (i - first) * k_, k_, 1};
    return {packed_a_ + (i - first) / high_ * kMaxRows * k_, 1, kMaxRows};
  }

  HWY_INLINE Panel panel(int64_t j, int64_t width) const {
    const int64_t padded = width <= kLanes<T> ? kLanes<T> : kPanel<T>;
    if (t_.panels.data != nullptr)
      return {t_.panels.data + begin_ * t_.panels.all + (t_.panels.first + j) * k_, padded};
    const Panel b{t_.b + begin_ * t_.b_rows + j * t_.b_cols, t_.b_rows};
    return plan_.pack_b || width == padded ? b : packed(b, width);
  }

  HWY_INLINE Panel packed(const Panel& b, int64_t width) const {
    const int64_t padded = width <= kLanes<T> ? kLanes<T> : kPanel<T>;
    pack_panel(k_, width, b.data, t_.b_rows, t_.b_cols, padded, panel_);
    return {panel_, padded};
  }

  HWY_INLINE void multiply(int64_t i, int64_t rows, int64_t j, int64_t width, const Sliver& a, const Panel& b,
                           const Lines<T>& ahead) const {
    const Micro<T> micro = width <= kLanes<T> ? kMicro<T>.narrow[rows - 1] : kMicro<T>.wide[rows - 1];
    micro(k_, t_.alpha, a.data, a.rows, a.cols, b.data, b.rows, beta_, t_.c + i * t_.c_rows + j, t_.c_rows, width,
          ahead);
  }

  const Tile<T>& t_;
  const Plan<T>& plan_;
  int64_t begin_, k_, high_;
  T beta_;
  const T* a_;
  T *panel_, *packed_a_;
};

template <class T>
HWY_NOINLINE void multiply_blocks(const Tile<T>& t, T* scratch) {
  if (t.m == 0 || t.n == 0) return;
  const Plan<T> plan(t);
  const int64_t depth = block_depth(t.k);
  int64_t begin = 0;
  do {  // once also for k = 0: C = beta C
    const Block<T> block(t, plan, begin, std::min(depth, t.k - begin), depth, scratch);
    if (plan.by_slivers) {
      block.by_slivers();
    } else {
      block.by_panels();
    }
    begin += depth;
  } while (begin < t.k);
}

// A copy of the tile would be read in vectors that its fields were just written into one by one, which a processor
// waits for: small products took a tenth longer. Only what few rows leave is one.
template <class T>
void multiply(const Tile<T>& t, T* scratch) {
  if (t.m > blas::kUnpackedRows || t.k == 0 || t.a_cols != 1 || t.b_rows != 1 || t.panels.data != nullptr) {
    return multiply_blocks(t, scratch);
  }
  const int64_t whole = t.beta == 0 && t.n > kFewColumns<T> ? t.n : t.n / kFewColumns<T> * kFewColumns<T>;
  few_rows<T>(t.m, whole, t.k, block_depth(t.k), t.alpha, {t.a, t.a_rows, t.b, t.b_cols}, t.beta, t.c, t.c_rows,
              t.fetch_b);
  if (whole == t.n) return;
  Tile<T> rest = t;
  rest.b += whole * t.b_cols, rest.c += whole, rest.n -= whole;
  multiply_blocks(rest, scratch);
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

// The same for slivers: consecutive blocks of k, each with consecutive slivers.
template <class T>
void pack_all_slivers(int64_t m, int64_t k, const T* a, int64_t a_rows, int64_t a_cols, int64_t first_sliver,
                      int64_t last_sliver, T* slivers) {
  const int64_t depth = block_depth(k), all_rows = (m + kMaxRows - 1) / kMaxRows * kMaxRows;
  const int64_t first = first_sliver * kMaxRows, rows = std::min(m, last_sliver * kMaxRows) - first;
  a += first * a_rows;
  for (int64_t begin = 0; begin < k; begin += depth, a += depth * a_cols) {
    const int64_t columns = std::min(depth, k - begin);
    T* const to = slivers + begin * all_rows + first * columns;
    if (a_cols == 1) {
      pack_slivers_of_rows(rows, columns, a, a_rows, to);
    } else {
      pack_slivers(rows, kMaxRows, columns, a, a_rows, a_cols, to);
    }
  }
}

template <class T>
void store_turned(int64_t m, int64_t n, const T* from, int64_t from_rows, T* to, int64_t to_cols) {
  constexpr int64_t kLine = 64 / sizeof(T);  // read at a time, so that every line of `to` is completed soon
  for (int64_t j = 0; j < n; j += kLine) {
    const int64_t some = std::min(kLine, n - j);
    int64_t i = 0;
    for (; i + kLanes<T> <= m; i += kLanes<T>) {
      transpose_lanes(some, kLanes<T>, from + i * from_rows + j, from_rows, to + j * to_cols + i, to_cols);
    }
    for (; i < m; ++i) {
      for (int64_t q = j; q < j + some; ++q) to[q * to_cols + i] = from[i * from_rows + q];
    }
  }
}

template <class T, int kHigh>
void pack_one_sliver(int64_t m, int64_t k, const T* a, int64_t a_rows, int64_t a_cols, T* to) {
  if (k == 0) return;
  if (m < kHigh) std::fill(to, to + kHigh * k, T(0));
  if (a_cols == 1 && m == kHigh) {
    pack_slivers_of_rows<kHigh>(m, k, a, a_rows, to);
  } else {
    pack_slivers<kHigh>(m, m, k, a, a_rows, a_cols, to);
  }
}

// Rows of BLIS's kernels for these vectors: those of bli_sgemm_skx_asm_32x12_l2 are called its columns, the others have
// as many as ours.
template <class T>
constexpr int kBlisRows = HWY_TARGET == HWY_AVX3 && sizeof(T) == 4 ? 12 : kMaxRows;

template <class T>
void pack_one_panel(int64_t n, int64_t k, const T* b, int64_t b_cols, int64_t b_rows, T* to) {
  if (n < kPanel<T>) std::fill(to, to + kPanel<T> * k, T(0));
  pack_panel(k, n, b, b_rows, b_cols, kPanel<T>, to);
}

template <class T>
const blas::Kernels<T>& table() {
  static constexpr blas::Kernels<T> kTable{kMaxRows,
                                           kPanel<T>,
                                           multiply<T>,
                                           scratch_size<T>,
                                           pack_panels<T>,
                                           pack_all_slivers<T>,
                                           store_turned<T>,
                                           kBlisRows<T>,
                                           pack_one_sliver<T, kBlisRows<T>>,
                                           pack_one_panel<T>,
                                           (HWY_TARGET == HWY_AVX3 ? 1920 : 672) / int64_t{sizeof(T)}};
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
