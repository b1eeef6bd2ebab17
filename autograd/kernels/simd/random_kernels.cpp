// Kernels of the random streams: Mersenne Twister blocks, keep masks, exponential numbers, and single precision
// Box-Muller.
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/autograd/kernels/simd/random_kernels.h>
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <cmath>
#include <cstddef>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/autograd/kernels/simd/random_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <tapegrad/autograd/kernels/simd/simd.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::detail::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using tapegrad::HWY_NAMESPACE::fused;

constexpr size_t kState = 624, kShift = 397;

using Words = hn::CappedTag<uint32_t, 16>;  // there are 16 words after a block
using Eight = hn::CappedTag<float, 8>;      // half of a Box-Muller block
using WordsV = hn::Vec<Words>;
using EightV = hn::Vec<Eight>;

HWY_INLINE WordsV temper(WordsV y) {
  const Words d;
  y = hn::Xor(y, hn::ShiftRight<11>(y));
  y = hn::Xor(y, hn::And(hn::ShiftLeft<7>(y), hn::Set(d, 0x9d2c5680u)));
  y = hn::Xor(y, hn::And(hn::ShiftLeft<15>(y), hn::Set(d, 0xefc60000u)));
  return hn::Xor(y, hn::ShiftRight<18>(y));
}

HWY_INLINE uint32_t temper(uint32_t y) {
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

// word[i] <- word[i + 397] ^ twist(top bit of word[i], rest of word[i + 1]), indices modulo 624.
void refill(uint32_t* words) {
  const Words d;
  const size_t n = hn::Lanes(d);
  const auto top = hn::Set(d, 0x80000000u), one = hn::Set(d, 1u), matrix = hn::Set(d, 0x9908b0dfu);
  for (size_t i = 0; i < kState; i += n) {
    const auto y = hn::Or(hn::And(hn::LoadU(d, words + i), top), hn::AndNot(top, hn::LoadU(d, words + i + 1)));
    const auto odd = hn::And(hn::Sub(hn::Zero(d), hn::And(y, one)), matrix);
    const uint32_t* other = i < kState - kShift ? words + i + kShift : words + i + kShift - kState;
    const auto x = hn::Xor(hn::Xor(hn::LoadU(d, other), hn::ShiftRight<1>(y)), odd);
    hn::StoreU(x, d, words + i);
    if (i == 0) hn::StoreU(x, d, words + kState);  // a vector that reads past the end gets the new start
  }
}

void uniform(const uint32_t* words, int64_t n, float from, float range, float* out) {
  const Words d;
  const hn::Rebind<float, Words> df;
  const hn::Rebind<int32_t, Words> di;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto bits = hn::And(temper(hn::LoadU(d, words + i)), hn::Set(d, 0xffffffu));
    const auto u = hn::Mul(hn::ConvertTo(df, hn::BitCast(di, bits)), hn::Set(df, 0x1p-24f));
    hn::StoreU(fused(u, hn::Set(df, range), hn::Set(df, from)), df, out + i);
  }
  for (; i < n; ++i) out[i] = std::fma(static_cast<float>(temper(words[i]) & 0xffffffu) * 0x1p-24f, range, from);
}

// The top 21 of the 53 bits decide all but one pair in 2^21, so only first words are tempered; a block with such a pair
// (equal top bits) is compared again with all bits.
void keep(const uint32_t* words, int64_t n, uint64_t threshold, uint8_t* out) {
  const Words d;
  const hn::Rebind<int32_t, Words> di;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto low21 = hn::Set(d, 0x1fffffu);
  const auto limit = hn::Set(di, static_cast<int32_t>(threshold >> 32));
  const auto exactly = [&](int64_t i) {
    const uint64_t first = temper(words[2 * i]) & 0x1fffffu;
    return static_cast<uint8_t>((first << 32 | temper(words[2 * i + 1])) < threshold);
  };
  auto unsure = hn::Lt(limit, hn::Zero(di));  // nowhere
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    WordsV first, second;
    hn::LoadInterleaved2(d, words + 2 * i, first, second);
    const auto bits = hn::BitCast(di, hn::And(temper(first), low21));
    unsure = hn::Or(unsure, hn::Eq(bits, limit));
    uint8_t packed[8];
    hn::StoreMaskBits(di, hn::Lt(bits, limit), packed);
    for (int64_t j = 0; j < lanes; j += 8) {
      std::memcpy(out + i + j, &kBytesOfBits[packed[j / 8]], static_cast<size_t>(lanes < 8 ? lanes : 8));
    }
  }
  const bool again = (threshold & 0xffffffffu) != 0 && !hn::AllFalse(di, unsure);
  for (i = again ? 0 : i; i < n; ++i) out[i] = exactly(i);
}

// ln x for 2^-24 <= x <= 1, after Cephes' logf: x = m 2^e, sqrt(1/2) <= m < sqrt(2), then a polynomial in m - 1.
HWY_INLINE EightV ln(EightV x) {
  const Eight d;
  const hn::Rebind<int32_t, Eight> di;
  const auto bits = hn::BitCast(di, x);
  const auto mantissa = hn::Or(hn::And(bits, hn::Set(di, 0x007fffff)), hn::Set(di, 0x3f000000));
  auto e = hn::ConvertTo(d, hn::Sub(hn::ShiftRight<23>(bits), hn::Set(di, 126)));
  const auto m = hn::BitCast(d, mantissa);  // [1/2, 1)
  const auto below = hn::Lt(m, hn::Set(d, 0.707106781186547524f));
  e = hn::Sub(e, hn::IfThenElseZero(below, hn::Set(d, 1.0f)));
  const auto f = hn::Add(hn::Sub(m, hn::Set(d, 1.0f)), hn::IfThenElseZero(below, m));
  const auto f2 = hn::Mul(f, f);
  auto y = hn::Set(d, 7.0376836292e-2f);
  for (const float c : {-1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f,
                        2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f}) {
    y = fused(y, f, hn::Set(d, c));
  }
  // f + (f^3 P(f) - f^2 / 2 + e c0) + e c1, with ln 2 = c0 + c1
  y = fused(hn::Mul(y, f), f2, hn::Mul(e, hn::Set(d, -2.12194440e-4f)));
  y = fused(f2, hn::Set(d, -0.5f), y);
  return fused(e, hn::Set(d, 0.693359375f), hn::Add(f, y));
}

// sin x and cos x for 0 <= x <= 2 pi, after Cephes' sinf and cosf: octants, then a polynomial each on [-pi/4, pi/4].
HWY_INLINE void sin_cos(EightV x, EightV& sine, EightV& cosine) {
  const Eight d;
  const hn::Rebind<int32_t, Eight> di;
  auto octant = hn::ConvertTo(di, hn::Mul(x, hn::Set(d, 1.27323954473516f)));
  octant = hn::And(hn::Add(octant, hn::Set(di, 1)), hn::Set(di, ~1));
  const auto k = hn::ConvertTo(d, octant);
  // x - octant * pi / 4, pi / 4 in three parts
  x = fused(k, hn::Set(d, -0.78515625f), x);
  x = fused(k, hn::Set(d, -2.4187564849853515625e-4f), x);
  x = fused(k, hn::Set(d, -3.77489497744594108e-8f), x);
  const auto x2 = hn::Mul(x, x);
  auto c = hn::Set(d, 2.443315711809948e-5f);
  c = fused(c, x2, hn::Set(d, -1.388731625493765e-3f));
  c = fused(c, x2, hn::Set(d, 4.166664568298827e-2f));
  c = fused(hn::Mul(c, x2), x2, hn::Mul(x2, hn::Set(d, -0.5f)));
  c = hn::Add(c, hn::Set(d, 1.0f));
  auto s = hn::Set(d, -1.9515295891e-4f);
  s = fused(s, x2, hn::Set(d, 8.3321608736e-3f));
  s = fused(s, x2, hn::Set(d, -1.6666654611e-1f));
  s = fused(hn::Mul(s, x2), x, x);
  // Octants 2 and 6 swap the two; the sine is negative from 4 on, the cosine in 2 and 4.
  const auto swap = hn::RebindMask(d, hn::Ne(hn::And(octant, hn::Set(di, 2)), hn::Zero(di)));
  const auto sine_sign = hn::ShiftLeft<29>(hn::And(octant, hn::Set(di, 4)));
  const auto cosine_sign = hn::ShiftLeft<29>(hn::AndNot(hn::Sub(octant, hn::Set(di, 2)), hn::Set(di, 4)));
  sine = hn::Xor(hn::IfThenElse(swap, c, s), hn::BitCast(d, sine_sign));
  cosine = hn::Xor(hn::IfThenElse(swap, s, c), hn::BitCast(d, cosine_sign));
}

// Where all doubles near a rough one round to the same float, that is the result; elsewhere fixed::log computes it.
void exponentials(const double* u, int64_t n, double factor, float* out) {
  using tapegrad::HWY_NAMESPACE::Vec;
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> narrow;
  constexpr int64_t kWidth = HWY_LANES(double);
  const auto one = [&](int64_t i) HWY_ATTR { out[i] = static_cast<float>(factor * fixed::log(1 - u[i])); };
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const Vec<double> rough = factor * log(1 - Vec<double>(hn::LoadU(wide, u + i)));
    const auto low = hn::DemoteTo(narrow, (rough * (1 - 0x1p-48)).raw);
    hn::StoreU(low, narrow, out + i);
    const auto same = hn::Eq(low, hn::DemoteTo(narrow, (rough * (1 + 0x1p-48)).raw));
    if (HWY_UNLIKELY(!hn::AllTrue(narrow, same))) {
      for (int64_t j = 0; j < kWidth; ++j) one(i + j);
    }
  }
  for (; i < n; ++i) one(i);
}

void box_muller_blocks(float* x, int64_t blocks, float mean, float std) {
  const Eight d;
  const size_t n = hn::Lanes(d);
  for (int64_t b = 0; b < blocks; ++b, x += 16) {
    for (size_t j = 0; j < 8; j += n) {
      const auto u1 = hn::Sub(hn::Set(d, 1.0f), hn::LoadU(d, x + j));
      const auto theta = hn::Mul(hn::Set(d, 6.283185307179586f), hn::LoadU(d, x + j + 8));
      const auto radius = hn::Sqrt(hn::Mul(hn::Set(d, -2.0f), ln(u1)));
      EightV sine, cosine;
      sin_cos(theta, sine, cosine);
      hn::StoreU(fused(hn::Mul(radius, cosine), hn::Set(d, std), hn::Set(d, mean)), d, x + j);
      hn::StoreU(fused(hn::Mul(radius, sine), hn::Set(d, std), hn::Set(d, mean)), d, x + j + 8);
    }
  }
}

}  // namespace tapegrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::detail {
namespace {
HWY_EXPORT(refill);
HWY_EXPORT(uniform);
HWY_EXPORT(keep);
HWY_EXPORT(exponentials);
HWY_EXPORT(box_muller_blocks);
}  // namespace

void mt_refill(uint32_t* words) { kernel_of(HWY_DISPATCH_TABLE(refill))(words); }

void mt_uniform(const uint32_t* words, int64_t n, float from, float range, float* out) {
  kernel_of(HWY_DISPATCH_TABLE(uniform))(words, n, from, range, out);
}

void mt_keep(const uint32_t* words, int64_t n, uint64_t threshold, uint8_t* keep) {
  kernel_of(HWY_DISPATCH_TABLE(keep))(words, n, threshold, keep);
}

void exponential_numbers(const double* u, int64_t n, double factor, float* out) {
  kernel_of(HWY_DISPATCH_TABLE(exponentials))(u, n, factor, out);
}

void box_muller(float* x, int64_t blocks, float mean, float std) {
  kernel_of(HWY_DISPATCH_TABLE(box_muller_blocks))(x, blocks, mean, std);
}

}  // namespace tapegrad::detail
#endif
