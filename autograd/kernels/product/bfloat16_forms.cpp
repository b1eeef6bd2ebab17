// The forms of products in bfloat16: packing and the innermost kernels for each instruction set.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/kernels/product/bfloat16_forms.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include <tapegrad/autograd/kernels/processor.h>
#include <tapegrad/autograd/kernels/product/bfloat16_forms.h>
#include <tapegrad/autograd/kernels/simd/bfloat16-inl.h>
#include <tapegrad/autograd/kernels/simd/bfloat16.h>
#include <tapegrad/autograd/kernels/simd/simd.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

using rounded_product::Block;
using rounded_product::Strips;

constexpr int64_t kWide = kLanes<float>;
using Floats = hn::ScalableTag<float>;
using WordsTag = hn::ScalableTag<uint32_t>;
using Words = hn::Vec<WordsTag>;

// ---- Elements with their 16 bits in the upper half of a word; the lower half is unspecified ----

HWY_INLINE Words load_upper(const float* p, int64_t n) { return rounded_words(n >= kWide ? load(p) : load(p, n)); }
HWY_INLINE Words load_upper(const uint16_t* p, int64_t n) {
  const hn::Rebind<uint16_t, WordsTag> narrow;
  if (n >= kWide) return hn::ShiftLeft<16>(hn::PromoteTo(WordsTag(), hn::LoadU(narrow, p)));
  uint16_t part[kWide] = {};
  std::copy_n(p, n, part);
  return hn::ShiftLeft<16>(hn::PromoteTo(WordsTag(), hn::LoadU(narrow, part)));
}
inline uint32_t low_half(const float* p) { return round_to_bfloat16(*p); }
inline uint32_t low_half(const uint16_t* p) { return *p; }

// Packs one pair of k: one word, or both elements widened, the odd one first. `width`: of the strip.
template <int kWords>
HWY_INLINE void put_pair(Words even, Words odd, float* to, int64_t width) {
  const WordsTag d;
  const Floats f;
  const Words odd_only = hn::And(odd, hn::Set(d, 0xffff0000));
  if constexpr (kWords == 1) {
    hn::StoreU(hn::BitCast(f, hn::Or(hn::ShiftRight<16>(even), odd_only)), f, to);
  } else {
    hn::StoreU(hn::BitCast(f, odd_only), f, to);
    hn::StoreU(hn::BitCast(f, hn::And(even, hn::Set(d, 0xffff0000))), f, to + width);
  }
}
template <int kWords>
HWY_INLINE void put_words(Words pairs, float* to, int64_t width) {
  const Floats f;
  if constexpr (kWords == 1) {
    hn::StoreU(hn::BitCast(f, pairs), f, to);
  } else {
    put_pair<2>(hn::ShiftLeft<16>(pairs), pairs, to, width);
  }
}
template <int kWords>
HWY_INLINE void put_one(uint32_t even, uint32_t odd, float* to, int64_t width) {
  if constexpr (kWords == 1) {
    *to = std::bit_cast<float>(odd << 16 | even);
  } else {
    *to = std::bit_cast<float>(odd << 16);
    to[width] = std::bit_cast<float>(even << 16);
  }
}

// ---- Packing. Lanes of a strip that do not exist have any values ----

// Lanes are contiguous: all strips at once, so that each row along k is read from start to end.
template <int kWords, class T>
void pack_rows(const Strips& s) {
  constexpr int64_t kAhead = 8;  // rows from the present one to that which is prefetched
  const T* even = static_cast<const T*>(s.from);
  for (int64_t p = 0; p < s.k; p += 2, even += 2 * s.k_stride) {
    float* strip = s.to + p / 2 * kWords * s.width;
    for (int64_t first = 0; first < s.lanes; first += s.width, strip += s.step) {
      for (int64_t v = 0; v < s.width && first + v < s.lanes; v += kWide) {
        const int64_t at = first + v, n = s.lanes - at;
        hwy::Prefetch(even + kAhead * s.k_stride + at);
        hwy::Prefetch(even + (kAhead + 1) * s.k_stride + at);
        const Words odd = p + 1 < s.k ? load_upper(even + s.k_stride + at, n) : hn::Zero(WordsTag());
        put_pair<kWords>(load_upper(even + at, n), odd, strip + v, s.width);
      }
    }
  }
}

// 16 bytes of each of the lanes 0, 4, 8, 12.
template <class Byte = uint8_t>  // so that only one branch is compiled
HWY_INLINE Words quads(const Byte* const* lane, int64_t at) {
  const hn::ScalableTag<Byte> d;
  const hn::FixedTag<Byte, 16> quad;
  if constexpr (kLanes<Byte> == 16) {
    return hn::BitCast(WordsTag(), hn::LoadU(quad, lane[0] + at));
  } else if constexpr (kLanes<Byte> == 32) {
    return hn::BitCast(WordsTag(), hn::Combine(d, hn::LoadU(quad, lane[4] + at), hn::LoadU(quad, lane[0] + at)));
  } else {
    const hn::Half<decltype(d)> half;
    const auto upper = hn::Combine(half, hn::LoadU(quad, lane[12] + at), hn::LoadU(quad, lane[8] + at));
    const auto lower = hn::Combine(half, hn::LoadU(quad, lane[4] + at), hn::LoadU(quad, lane[0] + at));
    return hn::BitCast(WordsTag(), hn::Combine(d, upper, lower));
  }
}

// Four pairs of each of those lanes.
HWY_INLINE Words four_pairs(const uint8_t* const* lane, int64_t at, const uint16_t*) { return quads(lane, at); }
HWY_INLINE Words four_pairs(const uint8_t* const* lane, int64_t at, const float*) {
  const hn::RebindToSigned<WordsTag> d;
  const hn::Repartition<int16_t, WordsTag> narrow;
  const auto upper = [&](int64_t from) HWY_ATTR {
    return hn::ShiftRight<16>(hn::BitCast(d, rounded_words(hn::BitCast(Floats(), quads(lane, from)))));
  };
  return hn::BitCast(WordsTag(), hn::ReorderDemote2To(narrow, upper(at), upper(at + 16)));
}

// k is contiguous: squares of 4 x 4 pairs are transposed by two rounds of interleaving.
template <int kWords, class T>
void pack_columns(const Strips& s) {
  const WordsTag d;
  const T* const from = static_cast<const T*>(s.from);
  float* strip = s.to;
  for (int64_t first = 0; first < s.lanes; first += s.width, strip += s.step) {
    for (int64_t v = 0; v < s.width && first + v < s.lanes; v += kWide) {
      const uint8_t* lane[kWide];
      for (int64_t i = 0; i < kWide; ++i) {
        lane[i] = reinterpret_cast<const uint8_t*>(from + std::min(first + v + i, s.lanes - 1) * s.lane_stride);
      }
      float* to = strip + v;
      const int64_t step = kWords * s.width;
      int64_t p = 0;
      for (; p + 8 <= s.k; p += 8, to += 4 * step) {
        const int64_t at = p * int64_t{sizeof(T)};
        if (at % 64 == 0) {  // prefetches the next lanes
          for (int64_t i = 0; i < kWide; ++i) hwy::Prefetch(lane[i] + kWide * s.lane_stride * int64_t{sizeof(T)} + at);
        }
        const Words r0 = four_pairs(lane, at, from), r1 = four_pairs(lane + 1, at, from);
        const Words r2 = four_pairs(lane + 2, at, from), r3 = four_pairs(lane + 3, at, from);
        const Words t0 = hn::InterleaveLower(d, r0, r2), t1 = hn::InterleaveLower(d, r1, r3);
        const Words t2 = hn::InterleaveUpper(d, r0, r2), t3 = hn::InterleaveUpper(d, r1, r3);
        put_words<kWords>(hn::InterleaveLower(d, t0, t1), to, s.width);
        put_words<kWords>(hn::InterleaveUpper(d, t0, t1), to + step, s.width);
        put_words<kWords>(hn::InterleaveLower(d, t2, t3), to + 2 * step, s.width);
        put_words<kWords>(hn::InterleaveUpper(d, t2, t3), to + 3 * step, s.width);
      }
      const int64_t lanes = std::min(kWide, s.width - v);
      for (; p < s.k; p += 2, to += step) {
        for (int64_t i = 0; i < lanes; ++i) {
          const T* const pair = reinterpret_cast<const T*>(lane[i]) + p;
          put_one<kWords>(low_half(pair), p + 1 < s.k ? low_half(pair + 1) : 0, to + i, s.width);
        }
      }
    }
  }
}

template <int kWords, class T>
void pack_elements(const Strips& s) {
  const T* const from = static_cast<const T*>(s.from);
  for (int64_t j = 0; j < s.lanes; ++j) {
    float* to = s.to + j / s.width * s.step + j % s.width;
    for (int64_t p = 0; p < s.k; p += 2, to += kWords * s.width) {
      const T* const pair = from + j * s.lane_stride + p * s.k_stride;
      put_one<kWords>(low_half(pair), p + 1 < s.k ? low_half(pair + s.k_stride) : 0, to, s.width);
    }
  }
}

template <int kWords, class T>
void pack_type(const Strips& s) {
  if (s.k_stride == 1) {
    pack_columns<kWords, T>(s);
  } else if (s.lane_stride == 1) {
    pack_rows<kWords, T>(s);
  } else {
    pack_elements<kWords, T>(s);
  }
}

template <int kWords>
void pack(const Strips& s) {
  s.narrow ? pack_type<kWords, uint16_t>(s) : pack_type<kWords, float>(s);
}

// ---- The innermost kernels; they run while denormals are zeros ----

// Of a sliver and a panel: 6 x 2 vectors of 16 registers, 14 x 2 of 32, or 12 x 2 of four lanes; with SSE4, which
// computes in double, 4 x 2. What packs a sliver stores whole vectors, one column after another, and a store past the
// sliver's rows is overwritten only where one vector holds them all.
constexpr int kSliverRows = HWY_TARGET == HWY_SSE4 ? 4 : !kManyRegisters ? 6 : kWide > 4 ? 14 : 12;
static_assert(kSliverRows <= kWide || kSliverRows % kWide == 0);

// sum + a b, rounded once.
#if HWY_TARGET == HWY_SSE4
// Without fused multiplication: the product of two bfloat16 is exact in double, and their sum may be rounded twice.
HWY_INLINE hn::Vec<Floats> step(float a, hn::Vec<Floats> b, hn::Vec<Floats> sum) {
  const hn::Repartition<double, Floats> wide;
  const hn::Half<Floats> half;
  const auto left = hn::Set(wide, static_cast<double>(a));
  const auto of = [&](auto b_half, auto sum_half) HWY_ATTR {
    return hn::DemoteTo(half, hn::Add(hn::Mul(left, hn::PromoteTo(wide, b_half)), hn::PromoteTo(wide, sum_half)));
  };
  return hn::Combine(Floats(), of(hn::UpperHalf(half, b), hn::UpperHalf(half, sum)),
                     of(hn::LowerHalf(half, b), hn::LowerHalf(half, sum)));
}
#else
HWY_INLINE hn::Vec<Floats> step(float a, hn::Vec<Floats> b, hn::Vec<Floats> sum) {
  return hn::MulAdd(hn::Set(Floats(), a), b, sum);
}
#endif

// The packed elements are in the order of the sums.
template <int kVecs>
HWY_NOINLINE void multiply_vectors(const Block& b) {
  const Floats d;
  const int64_t last = b.cols - (kVecs - 1) * kWide;
  hn::Vec<Floats> sum[kSliverRows][kVecs];
#pragma GCC unroll 14
  for (int i = 0; i < kSliverRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) {
      const float* const c = b.c + i * b.c_rows + v * kWide;
      sum[i][v] = hn::Zero(d);
      if (b.add && i < b.rows) sum[i][v] = v + 1 == kVecs ? load(c, last).raw : load(c).raw;
    }
  }
  const float* a = b.sliver;
  const float* panel = b.panel;
#pragma GCC unroll 2
  for (int64_t p = 0; p < 2 * b.pairs; ++p, a += kSliverRows, panel += 2 * kWide) {
    hn::Vec<Floats> row[kVecs];
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) row[v] = hn::LoadU(d, panel + v * kWide);
#pragma GCC unroll 14
    for (int i = 0; i < kSliverRows; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) sum[i][v] = step(a[i], row[v], sum[i][v]);
    }
  }
  const auto nan = hn::BitCast(d, hn::Set(WordsTag(), 0x7fc00000));
#pragma GCC unroll 14
  for (int i = 0; i < kSliverRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) {
      if (i >= b.rows) continue;
      float* const c = b.c + i * b.c_rows + v * kWide;
      const Vec<float> y = hn::IfThenElse(hn::IsNaN(sum[i][v]), nan, sum[i][v]);
      if (v + 1 == kVecs && last < kWide) {
        store(y, c, last);
      } else {
        store(y, c);
      }
    }
  }
}

#if HWY_TARGET == HWY_NEON
// If a result was flushed to zero, perhaps before it was rounded, the block is computed once more, one step at a time.
void multiply_exactly(const Block& b) {
  for (int64_t i = 0; i < b.rows; ++i) {
    for (int64_t j = 0; j < b.cols; ++j) {
      float& c = b.c[i * b.c_rows + j];
      float sum = b.add ? c : 0;
      for (int64_t p = 0; p < 2 * b.pairs; ++p) {
        sum = rounded_product::step(b.sliver[p * kSliverRows + i], b.panel[p * 2 * kWide + j], sum);
      }
      c = sum == sum ? sum : std::bit_cast<float>(0x7fc00000);
    }
  }
}
void multiply_block(const Block& block) {
  float before[kSliverRows][2 * kWide];
  for (int64_t i = 0; block.add && i < block.rows; ++i) std::copy_n(block.c + i * block.c_rows, block.cols, before[i]);
  take_flushed();
  block.cols > kWide ? multiply_vectors<2>(block) : multiply_vectors<1>(block);
  if (!take_flushed()) return;
  for (int64_t i = 0; block.add && i < block.rows; ++i) std::copy_n(before[i], block.cols, block.c + i * block.c_rows);
  multiply_exactly(block);
}
#else
void multiply_block(const Block& block) {
  block.cols > kWide ? multiply_vectors<2>(block) : multiply_vectors<1>(block);
}
#endif

std::vector<const rounded_product::Form*> rounded_forms() {
  static constexpr rounded_product::Form kForm{
      HWY_TARGET == HWY_SSE4 ? "double" : "fma", kSliverRows, 2 * kWide, 256, 2, pack<2>, multiply_block};
  std::vector<const rounded_product::Form*> found{&kForm};
#if HWY_TARGET == HWY_AVX3
  static constexpr rounded_product::Form kDot{
      "vdpbf16ps", kSliverRows, 2 * kWide, 384, 1, pack<1>, rounded_product::multiply_with_dot_instruction};
  if (rounded_product::has_dot_instruction()) found.insert(found.begin(), &kDot);
#endif
  return found;
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::rounded_product {

HWY_EXPORT(rounded_forms);

// In double, the product is exact, and rounding the sum twice is harmless.
float step(float a, float b, float sum) {
  const auto normal = [](float x) { return std::abs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; };
  const double exact = static_cast<double>(normal(a)) * normal(b) + normal(sum);
  if (std::abs(exact) >= 0x1p-120) return static_cast<float>(exact);
  const float large = static_cast<float>(exact * 0x1p64);  // rounds as if there were no least exponent
  return std::abs(large) < 0x1p-62f ? std::copysign(0.0f, large) : large * 0x1p-64f;
}

const std::vector<const Form*>& forms() {
  static const std::vector<const Form*> found = kernel_of(HWY_DISPATCH_TABLE(rounded_forms))();
  return found;
}

}  // namespace tapegrad::rounded_product
#endif
