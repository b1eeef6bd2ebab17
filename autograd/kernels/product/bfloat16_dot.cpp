// The innermost kernel of products in bfloat16 with the instruction vdpbf16ps, and whether the processor has it.
#include <tapegrad/autograd/kernels/product/bfloat16_forms.h>
#include <tapegrad/autograd/kernels/simd/bfloat16.h>

#include <bit>
#include <cstdint>

#if defined(__x86_64__)

#include <immintrin.h>

namespace tapegrad::rounded_product {
namespace {

constexpr int kRows = 14;
constexpr int64_t kLanes = 16;

void prefetch(Lines& lines) {
  for (int64_t n = lines.at_once; n > 0 && lines.rows > 0; --n) {
    __builtin_prefetch(lines.at + lines.done, 0, 2);  // into L2
    lines.done += 64;
    if (lines.done >= lines.width) lines.done = 0, lines.at += lines.step, --lines.rows;
  }
}

// The first kHigh rows of a sliver, and kVecs vectors of 16 columns.
template <int kHigh, int kVecs>
[[gnu::target("avx512f,avx512bf16,prfchw")]] void multiply_dot(const Block& b) {
  const int64_t last = b.cols - (kVecs - 1) * kLanes;
  const __mmask16 part = static_cast<__mmask16>((1u << last) - 1);
  __m512 sum[kHigh][kVecs] = {};
  if (b.add) {
#pragma GCC unroll 14
    for (int i = 0; i < kHigh; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) {
        const __mmask16 here = v + 1 == kVecs ? part : static_cast<__mmask16>(0xffff);
        if (i < b.rows) sum[i][v] = _mm512_maskz_loadu_ps(here, b.c + i * b.c_rows + v * kLanes);
      }
    }
  }
  const float* a = b.sliver;
  const float* panel = b.panel;
  int next = 0;
  for (int64_t p = 0, end; p < b.pairs; p = end) {
    end = p + Lines::kEvery < b.pairs ? p + Lines::kEvery : b.pairs;
    for (int i = 0; i < 2 && next < kRows; ++i, ++next) {
      __builtin_prefetch(b.next_c + next * b.c_rows, 1);
      __builtin_prefetch(b.next_c + next * b.c_rows + kLanes, 1);
      __builtin_prefetch(b.next_c + next * b.c_rows + 2 * kLanes - 1, 1);
    }
    if (b.ahead) prefetch(*b.ahead);
#pragma GCC unroll 2
    for (; p < end; ++p, a += kRows, panel += 2 * kLanes) {
      __m512 row[kVecs];
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) row[v] = _mm512_loadu_ps(panel + v * kLanes);
#pragma GCC unroll 14
      for (int i = 0; i < kHigh; ++i) {
        const __m512 left = _mm512_set1_ps(a[i]);
#pragma GCC unroll 2
        for (int v = 0; v < kVecs; ++v) sum[i][v] = _mm512_dpbf16_ps(sum[i][v], (__m512bh)left, (__m512bh)row[v]);
      }
    }
  }
  const __m512 nan = _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000));
#pragma GCC unroll 14
  for (int i = 0; i < kHigh; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) {
      if (i >= b.rows) continue;
      const __mmask16 undefined = _mm512_cmp_ps_mask(sum[i][v], sum[i][v], _CMP_UNORD_Q);
      _mm512_mask_storeu_ps(b.c + i * b.c_rows + v * kLanes, v + 1 == kVecs ? part : static_cast<__mmask16>(0xffff),
                            _mm512_mask_mov_ps(sum[i][v], undefined, nan));
    }
  }
}

// Values of all magnitudes; a third of the sums nearly cancel.
class Probes {
 public:
  uint16_t element() {
    const uint32_t bits = next();
    const uint32_t exponent = bits % 4 == 0 ? bits >> 8 & 0xff : 64 + (bits >> 8) % 8 * (bits % 4);
    return static_cast<uint16_t>((bits >> 1 & 0x8000) | (exponent == 0xff ? 0 : exponent) << 7 | (bits >> 20 & 0x7f));
  }
  float sum(float product) {
    const uint32_t bits = next();
    if (bits % 3 == 0) return 0;
    if (bits % 3 == 1) return widen_bfloat16(element());
    return -product * (1 + static_cast<float>(static_cast<int>(bits >> 8) % 1000) * 0x1p-24f);
  }

 private:
  uint32_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state_ >> 33);
  }
  uint64_t state_ = 1;
};

// A processor that sums in another order, rounds otherwise or keeps denormals would change results: then its
// instruction is not used.
[[gnu::target("avx512f,avx512bf16")]] bool follows_the_manual() {
  Probes probes;
  for (int round = 0; round < 64; ++round) {
    alignas(64) uint32_t a[kLanes], b[kLanes];
    alignas(64) float sum[kLanes], expected[kLanes];
    for (int64_t i = 0; i < kLanes; ++i) {
      const uint16_t even[] = {probes.element(), probes.element()}, odd[] = {probes.element(), probes.element()};
      a[i] = static_cast<uint32_t>(odd[0]) << 16 | even[0];
      b[i] = static_cast<uint32_t>(odd[1]) << 16 | even[1];
      sum[i] = probes.sum(widen_bfloat16(odd[0]) * widen_bfloat16(odd[1]));
      expected[i] = step(widen_bfloat16(even[0]), widen_bfloat16(even[1]),
                         step(widen_bfloat16(odd[0]), widen_bfloat16(odd[1]), sum[i]));
    }
    _mm512_store_ps(
        sum, _mm512_dpbf16_ps(_mm512_load_ps(sum), (__m512bh)_mm512_load_si512(a), (__m512bh)_mm512_load_si512(b)));
    for (int64_t i = 0; i < kLanes; ++i) {
      const bool both_nan = sum[i] != sum[i] && expected[i] != expected[i];
      if (!both_nan && std::bit_cast<uint32_t>(sum[i]) != std::bit_cast<uint32_t>(expected[i])) return false;
    }
  }
  return true;
}

}  // namespace

void multiply_with_dot_instruction(const Block& block) {
  if (block.cols <= kLanes) return multiply_dot<kRows, 1>(block);
  block.rows <= 4   ? multiply_dot<4, 2>(block)
  : block.rows <= 8 ? multiply_dot<8, 2>(block)
                    : multiply_dot<kRows, 2>(block);
}

bool has_dot_instruction() {
  static const bool has = __builtin_cpu_supports("avx512bf16") && follows_the_manual();
  return has;
}

}  // namespace tapegrad::rounded_product

#else

namespace tapegrad::rounded_product {

void multiply_with_dot_instruction(const Block&) {}
bool has_dot_instruction() { return false; }

}  // namespace tapegrad::rounded_product

#endif
