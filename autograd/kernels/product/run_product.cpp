// Products of runs with panels; compiled for each instruction set.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/kernels/product/run_product.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <algorithm>
#include <cstring>

#include <tapegrad/autograd/kernels/product/blas_micro.h>
#include <tapegrad/autograd/kernels/product/run_product.h>
#include <tapegrad/autograd/kernels/simd/simd.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

using runs::Run;

// Rows of C in registers, two vectors each. Each row of A needs its own pointer; six fit into registers.
inline constexpr int kRunRows = 6;

template <class T, int kRows, int kVecs>
void run_micro(const runs::Product<T>& product, int64_t first) {
  const typename Vec<T>::Tag d;
  const int64_t step = product.step;
  const int64_t* const a_rows = product.a_rows + first;
  const int64_t* const c_rows = product.c_rows + first;
  typename Vec<T>::Raw sum[kRows][kVecs];
#pragma GCC unroll 6
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) {
      sum[i][v] = product.add ? hn::LoadU(d, product.c + c_rows[i] + v * kLanes<T>) : hn::Zero(d);
    }
  }
  const T* b = product.panel;
  for (int64_t r = 0; r < product.count; ++r) {
    const Run run = product.runs[r];
    const T* from[kRows];
#pragma GCC unroll 6
    for (int i = 0; i < kRows; ++i) from[i] = product.a + (a_rows[i] + run.at);
    const int64_t end = run.length * step;
#pragma GCC unroll 2
    for (int64_t p = 0; p < end; p += step) {
      typename Vec<T>::Raw row[kVecs];
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) row[v] = hn::LoadU(d, b + v * kLanes<T>);
#pragma GCC unroll 6
      for (int i = 0; i < kRows; ++i) {
        const auto left = hn::Set(d, from[i][p]);
#pragma GCC unroll 2
        for (int v = 0; v < kVecs; ++v) sum[i][v] = fused(left, row[v], sum[i][v]);
      }
      b += kVecs * kLanes<T>;
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) hn::StoreU(sum[i][v], d, product.c + c_rows[i] + v * kLanes<T>);
  }
}

template <class T>
using RunMicro = void (*)(const runs::Product<T>&, int64_t);

// By rows less one. double has fewer kernels, which takes less space.
template <class T, int kVecs>
inline constexpr RunMicro<T> kRunMicro[kRunRows] = {run_micro<T, 1, kVecs>, run_micro<T, 2, kVecs>,
                                                    run_micro<T, 3, kVecs>, run_micro<T, 4, kVecs>,
                                                    run_micro<T, 5, kVecs>, run_micro<T, 6, kVecs>};
template <int kVecs>
inline constexpr RunMicro<double> kRunMicro<double, kVecs>[kRunRows] = {
    run_micro<double, 1, kVecs>, run_micro<double, 2, kVecs>, nullptr, nullptr, nullptr, run_micro<double, 6, kVecs>};

template <class T>
void multiply_runs(const runs::Product<T>& product) {
  const int64_t tiles = (product.rows + kRunRows - 1) / kRunRows;
  for (int64_t tile = 0, first = 0, rows; first < product.rows; ++tile, first += rows) {
    const int64_t left = product.rows - first;
    rows = product.rows * (tile + 1) / tiles - first;  // of equal heights
    if (sizeof(T) == sizeof(double)) rows = left >= kRunRows ? kRunRows : left >= 2 ? 2 : 1;
    (product.wide ? kRunMicro<T, 2> : kRunMicro<T, 1>)[rows - 1](product, first);
  }
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
  T square[kLanes<T> * kLanes<T>];
  for (int64_t i = 0; i < n; i += kLanes<T>) {
    const int64_t some = std::min(kLanes<T>, n - i);
    for (int64_t first = 0; first < planes; first += kLanes<T>) {
      const int64_t few = std::min(kLanes<T>, planes - first);
      transpose_lanes(few, some, from + i * pitch + first, pitch, square, kLanes<T>);
      for (int64_t p = 0; p < few; ++p) {
        Vec<T> y = load(square + p * kLanes<T>);
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

template <class T>
const runs::Kernels<T>& run_kernels() {
  static constexpr runs::Kernels<T> kTable{2 * kLanes<T>, multiply_runs<T>, interleave<T>, interleave_list<T>,
                                           separate<T>};
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
  const int64_t n = p.wide ? kernels<T>().cols : kernels<T>().cols / 2, most = blas::kDepth - 1;
  const Scratch<T> a(k), block(blas::kDepth), panel(blas::kDepth * n);
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
      std::copy_n(p.panel + first * n, some * n, panel.get() + n);
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
  if (products() == Products::blis) return multiply_on_blis(product);
  kernels<T>().multiply(product);
}
template void multiply<float>(const Product<float>&);
template void multiply<double>(const Product<double>&);

}  // namespace tapegrad::runs
#endif
