// Products of runs with panels; compiled for each instruction set.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/kernels/product/run_product.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/product/blas_micro.h>
#include <tapegrad/autograd/kernels/product/run_product.h>
#include <tapegrad/autograd/kernels/simd/simd.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

using runs::Run;

// Rows of C in registers, by the vectors of a row. Each row of A needs its own pointer; ten fit into registers. It
// takes at least eight independent sums to use the multipliers fully, and single vectors load as much as they multiply.
constexpr int run_rows(int vectors) {
  return vectors == 1 ? 10 : kManyRegisters ? (vectors == 2 ? 10 : 8) : vectors == 2 ? 6 : 4;
}

// Rows of C from `first` on. Missing rows are the last one again, with the same sums.
template <class T, int kRows, int kVecs>
void run_micro(const runs::Product<T>& product, int64_t first) {
  const typename Vec<T>::Tag d;
  const int64_t step = product.step;
  int64_t a_rows[kRows], c_rows[kRows];
  typename Vec<T>::Raw sum[kRows][kVecs];
#pragma GCC unroll 10
  for (int i = 0; i < kRows; ++i) {
    const int64_t row = std::min(first + i, product.rows - 1);
    a_rows[i] = product.a_rows[row], c_rows[i] = product.c_rows[row];
#pragma GCC unroll 3
    for (int v = 0; v < kVecs; ++v) {
      sum[i][v] = product.add ? hn::LoadU(d, product.c + c_rows[i] + v * kLanes<T>) : hn::Zero(d);
    }
  }
  const T* b = product.panel;
  for (int64_t r = 0; r < product.count; ++r) {
    const Run run = product.runs[r];
    const T* from[kRows];
#pragma GCC unroll 10
    for (int i = 0; i < kRows; ++i) from[i] = product.a + (a_rows[i] + run.at);
    const int64_t end = run.length * step;
    b += run.skip * kVecs * kLanes<T>;
#pragma GCC unroll 2
    for (int64_t p = 0; p < end; p += step) {
      typename Vec<T>::Raw row[kVecs];
#pragma GCC unroll 3
      for (int v = 0; v < kVecs; ++v) row[v] = hn::LoadU(d, b + v * kLanes<T>);
#pragma GCC unroll 10
      for (int i = 0; i < kRows; ++i) {
        const auto left = hn::Set(d, from[i][p]);
#pragma GCC unroll 3
        for (int v = 0; v < kVecs; ++v) sum[i][v] = fused(left, row[v], sum[i][v]);
      }
      b += kVecs * kLanes<T>;
    }
  }
#pragma GCC unroll 10
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 3
    for (int v = 0; v < kVecs; ++v) hn::StoreU(sum[i][v], d, product.c + c_rows[i] + v * kLanes<T>);
  }
}

// Rows of a panel at a time: with 16 registers they stay in L1. With 32, wide vectors spend less time on a panel from
// L2 than on loading and storing C more often.
inline constexpr int64_t kRunDepth = kManyRegisters ? 1024 : 256;

template <class T, int kVecs>
void multiply_panel(const runs::Product<T>& product) {
  constexpr int kHigh = run_rows(kVecs), kLow = kHigh / 2;
  int64_t first = 0;
  for (; first + kLow < product.rows; first += kHigh) run_micro<T, kHigh, kVecs>(product, first);
  if (first < product.rows) run_micro<T, kLow, kVecs>(product, first);
}

template <class T>
void multiply_runs(const runs::Product<T>& product) {
  (product.vectors == 1   ? multiply_panel<T, 1>
   : product.vectors == 2 ? multiply_panel<T, 2>
                          : multiply_panel<T, 3>)(product);
}

template <class T>
const runs::Kernels<T>& run_kernels();

template <class T>
void interleave_list(int64_t planes, int64_t n, const T* const* from, T* to, int64_t pitch) {
  if (planes == 1 && pitch == 1) {
    std::copy_n(from[0], n, to);
    return;
  }
  const T* columns[kLanes<T>];
  // from the last planes to the first, so that a vector's excess lanes are overwritten afterwards
  for (int64_t p = (planes - 1) / kLanes<T> * kLanes<T>; planes > 0 && p >= 0; p -= kLanes<T>) {
    for (int64_t j = 0; j < kLanes<T>; ++j) columns[j] = from[std::min(p + j, planes - 1)];
    transpose_columns<T>(n, columns, to + p, pitch);
  }
}

template <class T>
void interleave(int64_t planes, int64_t n, const T* from, int64_t plane, T* to, int64_t pitch) {
  const T* list[kLanes<T>];
  for (int64_t p = (planes - 1) / kLanes<T> * kLanes<T>; planes > 0 && p >= 0; p -= kLanes<T>) {
    const int64_t some = std::min(kLanes<T>, planes - p);
    for (int64_t j = 0; j < some; ++j) list[j] = from + (p + j) * plane;
    run_kernels<T>().interleave_list(some, n, list, to + p, pitch);
  }
}

template <class T>
void separate(int64_t planes, int64_t n, const T* from, int64_t pitch, const T* bias, T* to, int64_t plane) {
  constexpr int64_t kBlock = 16 / sizeof(T), kLine = std::max<int64_t>(kLanes<T>, 64 / sizeof(T));
  const T* columns[kLanes<T>];
  // a cache line of each plane at a time: planes may compete for the same place in a cache
  for (int64_t line = 0; line < n; line += kLine) {
    for (int64_t first = 0; first < planes; first += kBlock) {
      const int64_t few = std::min(kBlock, planes - first);
      for (int64_t i = line; i < std::min(n, line + kLine); i += kLanes<T>) {
        const int64_t some = std::min(kLanes<T>, n - i);
        for (int64_t j = 0; j < kLanes<T>; ++j) columns[j] = from + (i + std::min(j, some - 1)) * pitch;
        typename Vec<T>::Raw square[kBlock];
        load_square<T>(columns, first, square);
#pragma GCC unroll 4
        for (int64_t p = 0; p < kBlock; ++p) {
          if (p >= few) break;
          Vec<T> y = square[p];
          if (bias != nullptr) y += Vec<T>(bias[first + p]);
          T* const at = to + (first + p) * plane + i;
          if (some == kLanes<T>) {
            store(y, at);
          } else {
            store(y, at, some);
          }
        }
      }
    }
  }
}

template <class T>
const runs::Kernels<T>& run_kernels() {
  static constexpr runs::Kernels<T> kTable{kLanes<T>,     kRunDepth,          multiply_runs<T>,
                                           interleave<T>, interleave_list<T>, separate<T>};
  return kTable;
}
const runs::Kernels<float>& run_kernels_float() { return run_kernels<float>(); }
const runs::Kernels<double>& run_kernels_double() { return run_kernels<double>(); }

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/autograd/kernels/product/blas_blis.h>

namespace tapegrad::runs {
namespace {

// On BLIS, which reads no runs: from copies. Here a sum is one chain, however long; BLIS has blocks along k. So each
// block begins with the sum so far, times one.
template <class T>
void multiply_on_blis(const Product<T>& p) {
  int64_t k = 0;
  for (int64_t r = 0; r < p.count; ++r) k += p.runs[r].length;
  const int64_t n = p.vectors * kernels<T>().lanes, most = blas::kDepth - 1;
  const Scratch<T> a(k), block(blas::kDepth), panel(blas::kDepth * n), b(k * n);
  const T* from_panel = p.panel;
  T* to_b = b.get();
  for (int64_t r = 0; r < p.count; ++r) {
    from_panel += p.runs[r].skip * n;
    to_b = std::copy_n(from_panel, p.runs[r].length * n, to_b);
    from_panel += p.runs[r].length * n;
  }
  block.get()[0] = T(1);
  for (int64_t i = 0; i < p.rows; ++i) {
    T* to = a.get();
    for (int64_t r = 0; r < p.count; ++r) {
      const T* const from = p.a + p.a_rows[i] + p.runs[r].at;
      for (int64_t q = 0; q < p.runs[r].length; ++q) *to++ = from[q * p.step];
    }
    T* const c = p.c + p.c_rows[i];
    if (!p.add) std::fill_n(c, n, T(0));
    for (int64_t first = 0; first < k; first += most) {
      const int64_t some = std::min(most, k - first);
      std::copy_n(a.get() + first, some, block.get() + 1);
      std::copy_n(c, n, panel.get());
      std::copy_n(b.get() + first * n, some * n, panel.get() + n);
      blas::multiply_on_blis(blas::Tile<T>{1, n, some + 1, 1, block.get(), some + 1, 1, panel.get(), n, 1, 0, c, n});
    }
  }
}

}  // namespace

HWY_EXPORT(run_kernels_float);
HWY_EXPORT(run_kernels_double);

template <>
const Kernels<float>& kernels<float>() {
  return chosen<HWY_DISPATCH_TABLE(run_kernels_float)>();
}
template <>
const Kernels<double>& kernels<double>() {
  return chosen<HWY_DISPATCH_TABLE(run_kernels_double)>();
}

template <class T>
void multiply(const Product<T>& product) {
  if (blas::always_on_blis<T>()) return multiply_on_blis(product);
  kernels<T>().multiply(product);
}
template void multiply<float>(const Product<float>&);
template void multiply<double>(const Product<double>&);

}  // namespace tapegrad::runs
#endif
