// bfloat16: conversions, and products with a bfloat16 weight.
#include <tapegrad/autograd/kernels/simd_targets.h>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/autograd/kernels/bfloat16.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include <tapegrad/autograd/kernels/bfloat16-inl.h>
#include <tapegrad/autograd/kernels/bfloat16.h>
#include <tapegrad/autograd/kernels/blas_dot.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

template <int kRows>
void dot_bfloat16(int64_t begin, int64_t end, int64_t n, int64_t k, const float* a, const uint16_t* w, float* c) {
  dot_rows<kRows>(end - begin, k, a, k, w + begin * k, k,
                  [=](int i, int64_t j, float sum) { c[i * n + begin + j] = sum; });
}

// Few rows of A times rows [begin, end) of W.
void dot_rows_bfloat16(int64_t m, int64_t begin, int64_t end, int64_t n, int64_t k, const float* a, const uint16_t* w,
                       float* c) {
  if (m == 1) return dot_bfloat16<1>(begin, end, n, k, a, w, c);
  if (m == 2) return dot_bfloat16<2>(begin, end, n, k, a, w, c);
  dot_bfloat16<3>(begin, end, n, k, a, w, c);
}

void widen_row(const uint16_t* x, int64_t n, float* y) {
  int64_t i = 0;
  for (; i + kLanes<float> <= n; i += kLanes<float>) store(load_wide(x + i), y + i);
  if (i < n) store(load_wide(x + i, n - i), y + i, n - i);
}

void round_row(const float* x, int64_t n, uint16_t* y) {
  const hn::ScalableTag<int32_t> words;
  const hn::Rebind<uint16_t, decltype(words)> narrow;
  const auto halves = [&](Vec<float> v) HWY_ATTR {
    return hn::DemoteTo(narrow, hn::BitCast(words, hn::ShiftRight<16>(rounded_words(v))));
  };
  int64_t i = 0;
  for (; i + kLanes<float> <= n; i += kLanes<float>) hn::StoreU(halves(load(x + i)), narrow, y + i);
  if (i == n) return;
  uint16_t rest[kLanes<float>];
  hn::StoreU(halves(load(x + i, n - i)), narrow, rest);
  std::copy_n(rest, n - i, y + i);
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/kernels/blas_kernels.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/pool.h>

#include <vector>

namespace tapegrad {
namespace {

constexpr int64_t kGrain = 32768;   // elements for one thread to convert at a time
constexpr int64_t kRead = 1 << 18;  // elements of W for one thread to read at a time
constexpr int64_t kWidened = 1024;  // rows of W that are converted at a time

HWY_EXPORT(dot_rows_bfloat16);
HWY_EXPORT(widen_row);
HWY_EXPORT(round_row);

}  // namespace

void widen_bfloat16(const uint16_t* x, int64_t n, float* y) {
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
    kernel_of(HWY_DISPATCH_TABLE(widen_row))(x + begin, end - begin, y + begin);
  });
}

void round_to_bfloat16(const float* x, int64_t n, uint16_t* y) {
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
    kernel_of(HWY_DISPATCH_TABLE(round_row))(x + begin, end - begin, y + begin);
  });
}

void gemm_bfloat16(int64_t m, int64_t n, int64_t k, const float* a, const uint16_t* w, float* c, Epilogue done) {
  if (m == 0 || n == 0) return;
  if (m <= blas::kDotRows) {
    parallel_for(n, std::max<int64_t>(1, kRead / (k + 1)), [=](int64_t begin, int64_t end) {
      kernel_of(HWY_DISPATCH_TABLE(dot_rows_bfloat16))(m, begin, end, n, k, a, w, c);
      if (done) done(0, m, begin, end);
    });
    return;
  }
  PoolVector<float> wide(static_cast<std::size_t>(std::min(n, kWidened) * k));
  for (int64_t first = 0; first < n; first += kWidened) {
    const int64_t rows = std::min(kWidened, n - first);
    widen_bfloat16(w + first * k, rows * k, wide.data());
    const auto tile_done = [=](int64_t row_begin, int64_t row_end, int64_t col_begin, int64_t col_end) {
      done(row_begin, row_end, first + col_begin, first + col_end);
    };
    gemm<float>(m, rows, k, 1, {a, k, 1}, {wide.data(), 1, k}, 0, {c + first, n, 1},
                done ? Epilogue(tile_done) : Epilogue());
  }
}

}  // namespace tapegrad
#endif
