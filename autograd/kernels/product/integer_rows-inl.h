// Products with weights of small integers, in integers; included once for each instruction set.
//
// A row of A is rounded to integers, too, in the groups of the weight: x = s q with q from -127 to 127 and s the
// largest |x| of the group / 127, each rounded to nearest, ties to even. A group with NaN or infinity has s = NaN, q =
// 0. With the exact sum I of the products of integers of group g, p[g mod 4] = fma(I s_x, s_w, p[g mod 4]) in order
// from 0, and C = (p[0] + p[2]) + (p[1] + p[3]). So C has the same bits however it is computed, for any number of rows.
#if defined(TAPEGRAD_AUTOGRAD_INTEGER_ROWS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEGRAD_AUTOGRAD_INTEGER_ROWS_H_
#undef TAPEGRAD_AUTOGRAD_INTEGER_ROWS_H_
#else
#define TAPEGRAD_AUTOGRAD_INTEGER_ROWS_H_
#endif

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include <tapegrad/autograd/kernels/product/few_rows.h>
#include <tapegrad/autograd/kernels/simd/simd.h>

#ifndef TAPEGRAD_INTEGER_ROWS_CHUNK  // shared by all instruction sets
#define TAPEGRAD_INTEGER_ROWS_CHUNK
namespace tapegrad {
inline constexpr int64_t kChunkGroups = 4;  // groups that are multiplied together, and partial sums
}
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

using ByteTag = hn::ScalableTag<int8_t>;
using IntTag = hn::ScalableTag<int32_t>;
using Bytes = hn::Vec<ByteTag>;
using Ints = hn::Vec<IntTag>;

inline constexpr int kBlocks = kLanes<float> / 4;  // of 16 bytes in a vector: columns at a time
inline constexpr int64_t kDotRows =
    HWY_TARGET == HWY_AVX3 ? 4 : 6;  // at most so many rows are read along k, more in lanes

// A Group of a format has
//   kElements, kBytes        of a group
//   kParts                   parts of kElements / kParts neighbouring elements each, that share bytes
//   kBias<kDot>              what is added to a q, so that it is from 0 to 255; 0 if it is signed
//   expand<kDot>(from, to)   a group's q, in order, with the bias
//   multiply<kDot>(at, a, to)  sums of products of a chunk at[], as kVectors vectors
//   sums(found)              those of kBlocks columns; block c, lane j: of group j of column c, with the bias
// kDot: with the processor's instruction for dot products of bytes.

#if HWY_TARGET != HWY_NEON
// Products of bytes in pairs that are added in 16 bits, which they fit: with signs moved to a, 2 x 128 x 127 = 32512 is
// less than 32768; with a bias, which is for w of at most 15, 2 x 15 x 127 = 3810, and eight such sums are 30480.
template <int kBias>
HWY_INLINE Ints pairs_of(Bytes w, Bytes a) {
  const Bytes left = kBias != 0 ? w : hn::Abs(w);
#if HWY_TARGET == HWY_AVX3
  const auto sign = kBias != 0 ? __mmask64{0} : _mm512_movepi8_mask(w.raw);
  return Ints{_mm512_maddubs_epi16(left.raw, _mm512_mask_sub_epi8(a.raw, sign, _mm512_setzero_si512(), a.raw))};
#elif HWY_TARGET == HWY_AVX2
  return Ints{_mm256_maddubs_epi16(left.raw, kBias != 0 ? a.raw : _mm256_sign_epi8(a.raw, w.raw))};
#else
  return Ints{_mm_maddubs_epi16(left.raw, kBias != 0 ? a.raw : _mm_sign_epi8(a.raw, w.raw))};
#endif
}
#endif
HWY_INLINE Ints add_pairs(Ints a, Ints b) {
  const hn::Repartition<int16_t, IntTag> tag;
  return hn::BitCast(IntTag(), hn::Add(hn::BitCast(tag, a), hn::BitCast(tag, b)));
}
HWY_INLINE Ints sums_of_pairs(Ints pairs) {
  const hn::Repartition<int16_t, IntTag> tag;
  Ints rest = hn::Zero(IntTag());  // not used on x86
  const auto ones = hn::Set(tag, 1);
  return hn::RearrangeToOddPlusEven(hn::ReorderWidenMulAccumulate(IntTag(), hn::BitCast(tag, pairs), ones, rest, rest),
                                    rest);
}

// sum + the four products of each lane: w from -128 to 127, or from 0 on if kBias is not 0; a from -127 to 127.
template <bool kDot, int kBias>
HWY_INLINE Ints dot_bytes(Ints sum, Bytes w, Bytes a) {
#if HWY_TARGET == HWY_NEON
  const auto low = vmull_s8(vget_low_s8(w.raw), vget_low_s8(a.raw)), high = vmull_high_s8(w.raw, a.raw);
  return hn::Add(sum, Ints(vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high))));
#else
  if constexpr (kDot) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(w.raw), "vm"(a.raw));
    return sum;
  } else {
    return hn::Add(sum, sums_of_pairs(pairs_of<kBias>(w, a)));
  }
#endif
}

HWY_INLINE Bytes load_bytes(const void* from) { return hn::LoadU(ByteTag(), static_cast<const int8_t*>(from)); }

// Lane i of a block: the sum of that block of the i-th vector.
HWY_INLINE Ints sums_of_blocks(Ints a, Ints b, Ints c, Ints d) {
  const IntTag tag;
  const hn::Repartition<int64_t, IntTag> pair;
  const auto low = hn::BitCast(pair, hn::Add(hn::InterleaveLower(tag, a, b), hn::InterleaveUpper(tag, a, b)));
  const auto high = hn::BitCast(pair, hn::Add(hn::InterleaveLower(tag, c, d), hn::InterleaveUpper(tag, c, d)));
  return hn::Add(hn::BitCast(tag, hn::InterleaveLower(pair, low, high)),
                 hn::BitCast(tag, hn::InterleaveUpper(pair, low, high)));
}

// Block i: the sum of all blocks of the i-th vector.
HWY_INLINE Ints sums_of_vectors(const Ints* v) {
  const IntTag tag;
  if constexpr (kBlocks == 1) {
    return v[0];
  } else {
    const auto halves = [tag](Ints a, Ints b) HWY_ATTR {
      return hn::Add(hn::ConcatLowerLower(tag, b, a), hn::ConcatUpperUpper(tag, b, a));
    };
#if HWY_TARGET == HWY_AVX3
    const auto a = halves(v[0], v[1]).raw, b = halves(v[2], v[3]).raw;
    return hn::Add(Ints{_mm512_shuffle_i32x4(a, b, 0x88)}, Ints{_mm512_shuffle_i32x4(a, b, 0xdd)});
#else
    return halves(v[0], v[1]);
#endif
  }
}

// Four floats for each block.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const float* const* at) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, *at);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_blocks(half, at + hn::MaxLanes(d) / 8), load_blocks(half, at));
  }
}

// Rows of A as integers, in panels of `lanes` rows: of one, or as many as a vector has lanes. A panel has the scales
// [groups, lanes], -bias times the sums of the integers [groups, lanes], and the integers: [groups, elements] of one
// row, the first parts of a chunk's groups before the second ones; [elements / 4, lanes, 4] of several.
template <class Group>
struct Panels {
  int64_t lanes, groups;  // whole chunks
  char* at;

  Panels(int64_t m, int64_t k, void* memory)
      : lanes(m <= kDotRows ? 1 : kLanes<float>),
        groups(pieces_of(k, kChunkGroups * Group::kElements) * kChunkGroups),
        at(static_cast<char*>(memory)) {}
  int64_t bytes() const { return groups * lanes * (8 + Group::kElements); }
  float* scales(int64_t panel) const { return reinterpret_cast<float*>(at + panel * bytes()); }
  int32_t* offsets(int64_t panel) const { return reinterpret_cast<int32_t*>(scales(panel) + groups * lanes); }
  int8_t* values(int64_t panel) const { return reinterpret_cast<int8_t*>(offsets(panel) + groups * lanes); }
};

// A group of a row, with zeros after its elements: its integers, and the scale. Zeros if the scale is.
template <int64_t kElements>
HWY_INLINE float round_group(const float* x, int8_t* q) {
  constexpr int64_t kStep = kLanes<float>;
  const IntTag tag;
  auto most = hn::Zero(tag);  // bits of |x|, which are in order: infinity after all numbers, then NaN
  for (int64_t p = 0; p < kElements; p += kStep) most = hn::Max(most, hn::BitCast(tag, hn::Abs(load(x + p).raw)));
  const float largest = std::bit_cast<float>(hn::GetLane(hn::MaxOfLanes(tag, most)));
  const bool finite = largest <= std::numeric_limits<float>::max();
  const float scale = finite ? largest / 127 : std::numeric_limits<float>::quiet_NaN();
  for (int64_t p = 0; p < kElements; p += kStep) {
    const Vec<float> by = load(x + p) / Vec<float>(scale > 0 ? scale : 1.0F);
    const Vec<float> within = scale > 0 ? max(min(by, Vec<float>(127.0F)), Vec<float>(-127.0F)) : Vec<float>();
    hn::StoreU(hn::DemoteTo(hn::Rebind<int8_t, IntTag>(), hn::NearestInt(within.raw)), hn::Rebind<int8_t, IntTag>(),
               q + p);
  }
  return scale;
}

template <class Group, bool kDot>
void round_rows(int64_t m, int64_t k, const float* a, void* to) {
  constexpr int64_t kElements = Group::kElements, kPart = kElements / Group::kParts;
  const Panels<Group> panels(m, k, to);
  const int64_t lanes = panels.lanes;
  parallel_for(pieces_of(m, lanes) * lanes, (1 << 16) / (k + 1) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t at = begin * panels.groups; at < end * panels.groups; ++at) {
      const int64_t row = at / panels.groups, g = at % panels.groups, panel = row / lanes, lane = row % lanes;
      const int64_t count = row < m ? std::clamp<int64_t>(k - g * kElements, 0, kElements) : 0;
      float x[kElements] = {};
      int8_t q[kElements];
      if (count > 0) std::copy_n(a + row * k + g * kElements, count, x);
      panels.scales(panel)[g * lanes + lane] = round_group<kElements>(x, q);
      int sum = 0;
      for (const int8_t one : q) sum += one;
      panels.offsets(panel)[g * lanes + lane] = -Group::template kBias<kDot> * sum;
      int8_t* const values = panels.values(panel);
      for (int part = 0; lanes == 1 && part < Group::kParts; ++part) {
        const int64_t chunk = g / kChunkGroups * kChunkGroups * kElements;
        std::copy_n(q + part * kPart, kPart, values + chunk + (part * kChunkGroups + g % kChunkGroups) * kPart);
      }
      for (int64_t p = 0; lanes > 1 && p < kElements; p += 4) {
        std::memcpy(values + ((g * kElements + p) * lanes + 4 * lane), q + p, 4);
      }
    }
  });
}

// kBlocks columns at a time. Their lines are fetched in the order of memory, evenly, and twice: a processor drops
// fetches while too many are under way.
template <class Group, bool kDot>
void multiply_along_k(const StreamedWeight& w, int64_t begin, int64_t end, int64_t m, int64_t k,
                      const Panels<Group>& a) {
  constexpr int64_t kBytes = Group::kBytes * kChunkGroups, kElements = Group::kElements * kChunkGroups, kAhead = 8192;
  const int64_t groups = w.format->groups(k), whole = groups / kChunkGroups, rest = groups % kChunkGroups;
  uint8_t last[kBlocks][kBytes];  // a chunk that is not whole, and zeros
  float last_scales[kBlocks][kChunkGroups];
  for (int64_t j = begin; j < end; j += kBlocks) {
    const uint8_t* at[kBlocks];
    const float* scales[kBlocks];
    for (int64_t c = 0; c < kBlocks; ++c) {
      const int64_t column = std::min(j + c, end - 1) * groups;
      at[c] = static_cast<const uint8_t*>(w.data) + column * Group::kBytes;
      scales[c] = w.scales + column;
    }
    const uint8_t* fetched = at[0] + kAhead;
    const float* fetched_scales = scales[0] + kAhead / Group::kBytes;
    Vec<float> sums[kDotRows] = {};
    const auto add = [&](int64_t chunk) HWY_ATTR {
      for (int64_t row = 0; row < m; ++row) {
        Ints found[kBlocks][Group::kVectors];
#pragma GCC unroll 4
        for (int64_t c = 0; c < kBlocks; ++c) {
          for (int64_t line = c * kBytes; row == 0 && line < (c + 1) * kBytes; line += 64) {
            __builtin_prefetch(fetched + line);
            __builtin_prefetch(fetched - kAhead / 2 + line);
          }
          Group::template multiply<kDot>(at[c], a.values(row) + chunk * kElements, found[c]);
        }
        Ints n = Group::sums(found);
        const int64_t g = chunk * kChunkGroups;
        if (Group::template kBias<kDot> != 0) n = hn::Add(n, hn::LoadDup128(IntTag(), a.offsets(row) + g));
        const Vec<float> scale(hn::LoadDup128(Vec<float>::Tag(), a.scales(row) + g));
        sums[row] = fma(Vec<float>(hn::ConvertTo(Vec<float>::Tag(), n)) * scale,
                        Vec<float>(load_blocks(Vec<float>::Tag(), scales)), sums[row]);
      }
    };
    for (int64_t chunk = 0; chunk < whole; ++chunk) {
      __builtin_prefetch(fetched_scales);
      add(chunk);
      fetched += kBlocks * kBytes;
      fetched_scales += kBlocks * kChunkGroups;
      for (int64_t c = 0; c < kBlocks; ++c) at[c] += kBytes, scales[c] += kChunkGroups;
    }
    for (int64_t c = 0; rest > 0 && c < kBlocks; ++c) {
      std::fill(std::copy_n(at[c], rest * Group::kBytes, last[c]), last[c] + kBytes, uint8_t{0});
      std::fill(std::copy_n(scales[c], rest, last_scales[c]), last_scales[c] + kChunkGroups, 0.0F);
      at[c] = last[c], scales[c] = last_scales[c];
    }
    if (rest > 0) add(whole);
    for (int64_t row = 0; row < m; ++row) {
      float p[kBlocks * 4];
      store(sums[row], p);
      for (int64_t c = 0; c < std::min<int64_t>(kBlocks, end - j); ++c) {
        w.store(row, j + c, (p[4 * c] + p[4 * c + 2]) + (p[4 * c + 1] + p[4 * c + 3]));
      }
    }
  }
}

inline constexpr int64_t kWeightColumns = 8;  // whose q are broadcast to rows of A in lanes

// Adds one group: from columns' q, `step` apart, and a panel's group.
template <class Group, bool kDot>
HWY_INLINE void add_group(const uint8_t* q, int64_t step, const float* const* scales, const Panels<Group>& a,
                          int64_t panel, int64_t g, Vec<float>* sums) {
  constexpr int64_t kLane = kLanes<float>, kElements = Group::kElements;
  constexpr int kBias = Group::template kBias<kDot>;
  constexpr bool kInPairs = !kDot && kBias != 0 && kElements <= 32;  // eight sums in 16 bits
  const int8_t* const from = a.values(panel) + g * kElements * kLane;
  const Ints start = hn::LoadU(IntTag(), a.offsets(panel) + g * kLane);
  Ints n[kWeightColumns];
#pragma GCC unroll 8
  for (int64_t c = 0; c < kWeightColumns; ++c) n[c] = kInPairs ? hn::Zero(IntTag()) : start;
  for (int64_t p = 0; p < kElements; p += 4) {
    const Bytes x = load_bytes(from + p * kLane);
#pragma GCC unroll 8
    for (int64_t c = 0; c < kWeightColumns; ++c) {
      int32_t four;
      std::memcpy(&four, q + c * step + p, 4);
      const Bytes w = hn::BitCast(ByteTag(), hn::Set(IntTag(), four));
      if constexpr (kInPairs) {
        n[c] = add_pairs(n[c], pairs_of<kBias>(w, x));
      } else {
        n[c] = dot_bytes<kDot, kBias>(n[c], w, x);
      }
    }
  }
  const Vec<float> scale = load(a.scales(panel) + g * kLane);
#pragma GCC unroll 8
  for (int64_t c = 0; c < kWeightColumns; ++c) {
    if constexpr (kInPairs) n[c] = hn::Add(start, sums_of_pairs(n[c]));
    const Vec<float> sum(hn::ConvertTo(Vec<float>::Tag(), n[c]));
    sums[c] = fma(sum * scale, Vec<float>(scales[c][g]), sums[c]);
  }
}

template <class Group, bool kDot>
void multiply_in_lanes(const StreamedWeight& w, int64_t begin, int64_t end, int64_t m, int64_t k,
                       const Panels<Group>& a) {
  constexpr int64_t kPanels = 8, kLane = kLanes<float>, kStep = kChunkGroups * Group::kElements, kAhead = 16384;
  const int64_t groups = w.format->groups(k);
  const auto* const data = static_cast<const uint8_t*>(w.data);
  Vec<float> sums[kPanels][kChunkGroups][kWeightColumns];
  uint8_t q[kWeightColumns * kStep];
  const float* scales[kWeightColumns];
  for (int64_t first = 0; first * kLane < m; first += kPanels) {
    const int64_t count = std::min(kPanels, pieces_of(m, kLane) - first);
    for (int64_t j = begin; j < end; j += kWeightColumns) {
      const uint8_t* fetched = data + j * groups * Group::kBytes + kAhead;
      std::fill_n(&sums[0][0][0], count * kChunkGroups * kWeightColumns, Vec<float>());
      for (int64_t chunk = 0; chunk < groups; chunk += kChunkGroups) {
        const int64_t here = std::min(kChunkGroups, groups - chunk);
        for (int64_t c = 0; c < kWeightColumns; ++c) {
          const int64_t column = std::min(j + c, end - 1) * groups;
          scales[c] = w.scales + column;
          for (int64_t i = 0; i < here; ++i) {
            const uint8_t* const from = data + (column + chunk + i) * Group::kBytes;
            Group::template expand<kDot>(from, q + c * kStep + i * Group::kElements);
          }
        }
        for (int64_t panel = 0; panel < count; ++panel) {
          for (int64_t i = 0; i < here; ++i) {
            add_group<Group, kDot>(q + i * Group::kElements, kStep, scales, a, first + panel, chunk + i,
                                   sums[panel][i]);
            for (int64_t line = 0; panel == 0 && line < kWeightColumns * Group::kBytes; line += 64, fetched += 64) {
              __builtin_prefetch(fetched, 0, 2);
            }
          }
        }
      }
      for (int64_t panel = 0; panel < count; ++panel) {
        const int64_t row = (first + panel) * kLane;
        float sum[kWeightColumns][kLane];
        const auto& p = sums[panel];
        for (int64_t c = 0; c < kWeightColumns; ++c) store((p[0][c] + p[2][c]) + (p[1][c] + p[3][c]), sum[c]);
        for (int64_t i = 0; i < std::min(kLane, m - row); ++i) {
          for (int64_t c = 0; c < std::min(kWeightColumns, end - j); ++c) w.store(row + i, j + c, sum[c][i]);
        }
      }
    }
  }
}

template <class Group, bool kDot>
void multiply_integers(const StreamedWeight& w, int64_t begin, int64_t end, int64_t m, int64_t k, const void* rows) {
  const Panels<Group> a(m, k, const_cast<void*>(rows));
  (m > kDotRows ? multiply_in_lanes<Group, kDot> : multiply_along_k<Group, kDot>)(w, begin, end, m, k, a);
}

template <class Group>
int64_t rounded_bytes(int64_t m, int64_t k) {
  const Panels<Group> panels(m, k, nullptr);
  return pieces_of(m, panels.lanes) * panels.bytes();
}

// With the instruction, if the processor has it.
template <class Group>
HWY_INLINE IntegerKernels integer_kernels_of(bool dot) {
  if constexpr (HWY_TARGET == HWY_AVX3) {
    if (dot) return {rounded_bytes<Group>, round_rows<Group, true>, multiply_integers<Group, true>};
  }
  return {rounded_bytes<Group>, round_rows<Group, false>, multiply_integers<Group, false>};
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
