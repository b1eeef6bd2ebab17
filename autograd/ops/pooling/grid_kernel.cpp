// The kernels of grid_sample: places and weights of a block of points, then the channels, point by point in vectors.
// build: -O2
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/pooling/grid_kernel.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/product/run_product.h>
#include <tapegrad/autograd/kernels/simd/rows-inl.h>
#include <tapegrad/autograd/ops/pooling/detail/grid_kernel.h>

#ifndef TAPEGRAD_GRID_ARGS
#define TAPEGRAD_GRID_ARGS
namespace tapegrad {
struct GridArgs {
  const Sampling* s;
  GridOperands of;
  int64_t group = 0;  // of channels, for one thread
};
inline constexpr int64_t kGridPoints = 128;  // of a block
inline constexpr int kMostGridTaps = 16;
inline constexpr int64_t kLeastLanes = 4;          // channels that are worth sums with the channels last
inline constexpr int64_t kMostLaneSums = 1 << 22;  // elements of these sums
}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

template <class T>
using PlaceTag = hn::RebindToSigned<hn::ScalableTag<T>>;
template <class T>
using Place = hn::TFromD<PlaceTag<T>>;  // an integer as wide as T

// Places in the image, -1 outside of it, and weights of a block of points.
template <class T>
struct GridBlock {
  HWY_ALIGN Place<T> at[kMostGridTaps][kGridPoints];
  HWY_ALIGN T weight[kMostGridTaps][kGridPoints];
  bool inside = true;  // no place is -1
};

// Positions in elements of an axis, and their derivatives with respect to the grid.
template <class T>
struct GridPosition {
  Vec<T> at, slope;
};

template <class T>
HWY_INLINE GridPosition<T> clipped(GridPosition<T> p, T last) {
  const Mask<T> low = !(p.at > Vec<T>(0)), high = p.at >= Vec<T>(last);  // NaN is low
  return {where(low, Vec<T>(0), where(high, Vec<T>(last), p.at)), where(low | high, Vec<T>(0), p.slope)};
}

// Reflected at the edges of the axis until it is between them.
template <class T>
HWY_INLINE GridPosition<T> reflected(GridPosition<T> p, int64_t size, bool align_corners) {
  const T low = align_corners ? T{0} : T(-0.5), span = static_cast<T>(align_corners ? size - 1 : size);
  if (span == 0) return {Vec<T>(0), Vec<T>(0)};
  const Vec<T> moved = p.at - Vec<T>(low), distance = max(moved, -moved);
  const Vec<T> turns = hn::Floor((distance / Vec<T>(span)).raw), extra = distance - turns * Vec<T>(span);
  const Mask<T> odd = turns != Vec<T>(2) * Vec<T>(hn::Floor((turns * Vec<T>(T(0.5))).raw));
  const Mask<T> turned = odd ^ (moved < Vec<T>(0));
  const GridPosition<T> inner{where(odd, Vec<T>(span) - extra, extra) + Vec<T>(low), where(turned, -p.slope, p.slope)};
  return clipped(inner, static_cast<T>(size - 1));
}

template <class T>
HWY_INLINE GridPosition<T> padded(const GridSampleOptions& options, GridPosition<T> p, int64_t size) {
  if (options.padding == GridPadding::border) return clipped(p, static_cast<T>(size - 1));
  if (options.padding == GridPadding::reflection) return reflected(p, size, options.align_corners);
  return p;
}

// The weight of element k of four, for a position t between the second and the third, or its derivative.
template <class T>
HWY_INLINE Vec<T> cubic_weight(Vec<T> t, int k, int derivative) {
  constexpr T a = T(-0.75);
  // coefficients of 1, t, t^2, t^3
  constexpr T all[4][4] = {{0, a, -2 * a, a}, {1, 0, -(a + 3), a + 2}, {0, -a, 2 * a + 3, -(a + 2)}, {0, 0, a, -a}};
  const T(&c)[4] = all[k];
  switch (derivative) {
    case 0: return ((Vec<T>(c[3]) * t + Vec<T>(c[2])) * t + Vec<T>(c[1])) * t + Vec<T>(c[0]);
    case 1: return (Vec<T>(3 * c[3]) * t + Vec<T>(2 * c[2])) * t + Vec<T>(c[1]);
    case 2: return Vec<T>(6 * c[3]) * t + Vec<T>(2 * c[2]);
    case 3: return Vec<T>(6 * c[3]);
    default: return Vec<T>(0);
  }
}

// What an axis contributes to a vector of points: its elements as whole numbers, and their weights.
template <class T>
struct GridTaps {
  HWY_INLINE GridTaps() {}  // written out, or it would not be compiled for the instruction set
  Vec<T> at[4], weight[4];
};

template <class T, int kTaps>
HWY_INLINE void set_taps(const Sampling& s, int axis, Vec<T> grid, GridTaps<T>& taps) {
  const int64_t size = s.size[static_cast<std::size_t>(axis)];
  const int derivative = s.derivative[static_cast<std::size_t>(axis)];
  const bool aligned = s.options.align_corners;
  const T length = static_cast<T>(aligned ? size - 1 : size);
  const Vec<T> half = T(0.5), one = T{1}, shifted = grid + one;
  GridPosition<T> p{aligned ? shifted * half * Vec<T>(length) : (shifted * Vec<T>(length) - one) * half,
                    Vec<T>(length) * half};
  // NaN, and what is reflected without end, has no place; an infinity has a place outside, and no fraction.
  const Vec<T> difference = p.at - p.at;
  const Mask<T> endless = difference != difference,
                unknown = s.options.padding == GridPadding::reflection ? endless : p.at != p.at;
  if constexpr (kTaps == 4) {
    const Vec<T> second = hn::Floor(p.at.raw), t = where(endless, Vec<T>(0), p.at - second);
    for (int k = 0; k < 4; ++k) {
      taps.at[k] = padded<T>(s.options, {second + Vec<T>(static_cast<T>(k - 1)), one}, size).at;
      taps.weight[k] = cubic_weight(t, k, derivative);
    }
  } else if constexpr (kTaps == 1) {
    taps.at[0] = hn::Round(padded(s.options, p, size).at.raw);
    taps.weight[0] = derivative == 0 ? T{1} : T{0};
  } else {
    p = padded(s.options, p, size);
    const Vec<T> first = hn::Floor(p.at.raw), right = where(endless, Vec<T>(0), p.at - first);
    taps.at[0] = first;
    taps.at[1] = first + one;
    taps.weight[0] = derivative == 0 ? one - right : derivative == 1 ? -one : Vec<T>(0);
    taps.weight[1] = derivative == 0 ? right : derivative == 1 ? one : Vec<T>(0);
  }
  for (int d = 0; d < derivative; ++d) {
    for (int k = 0; k < kTaps; ++k) taps.weight[k] *= p.slope;
  }
  for (int k = 0; k < kTaps; ++k) {
    taps.at[k] = where(unknown, Vec<T>(-1), taps.at[k]);
    taps.weight[k] = where(unknown, Vec<T>(std::numeric_limits<T>::quiet_NaN()), taps.weight[k]);
  }
}

// Places times the size of an axis; int64 has no such instruction, and double is exact for them.
template <class T>
HWY_INLINE auto scaled(hn::Vec<PlaceTag<T>> at, int64_t size) {
  constexpr PlaceTag<T> places;
  if constexpr (sizeof(T) == 4) {
    return hn::Mul(at, hn::Set(places, static_cast<Place<T>>(size)));
  } else {
    constexpr hn::ScalableTag<T> numbers;
    return hn::ConvertTo(places, hn::Mul(hn::ConvertTo(numbers, at), hn::Set(numbers, static_cast<T>(size))));
  }
}

// The coordinates of up to kLanes points, by axis.
template <class T>
HWY_INLINE void load_points(const T* grid, int axes, int64_t count, Vec<T>* rows) {
  constexpr hn::ScalableTag<T> numbers;
  T copy[3 * kLanes<T>] = {};
  if (count < kLanes<T>) grid = std::copy_n(grid, count * axes, copy) - count * axes;
  if (axes == 2) {
    hn::LoadInterleaved2(numbers, grid, rows[0].raw, rows[1].raw);
  } else {
    hn::LoadInterleaved3(numbers, grid, rows[0].raw, rows[1].raw, rows[2].raw);
  }
}

// The places and weights of up to kLanes points from `p` on, of the grid's rows.
template <class T, int kTaps>
HWY_INLINE void set_points(const Sampling& s, const T* grid, int64_t p, int64_t count, GridBlock<T>& block) {
  constexpr PlaceTag<T> places;
  Vec<T> rows[3];
  load_points(grid, s.axes, count, rows);
  GridTaps<T> own;
  int all = 1;
  auto inside = hn::Zero(places);
  // From the first axis of the image to the last: the places of the next one within each place so far.
  for (int axis = s.axes - 1; axis >= 0; --axis) {
    set_taps<T, kTaps>(s, axis, rows[axis], own);
    const int64_t size = s.size[static_cast<std::size_t>(axis)];
    hn::Vec<PlaceTag<T>> element[kTaps];
    for (int k = 0; k < kTaps; ++k) {
      const Mask<T> valid = (own.at[k] >= Vec<T>(0)) & (own.at[k] < Vec<T>(static_cast<T>(size)));
      const auto whole = hn::ConvertTo(places, where(valid, own.at[k], Vec<T>(0)).raw);
      element[k] = hn::IfThenElse(hn::RebindMask(places, valid.raw), whole, hn::Set(places, Place<T>(-1)));
    }
    for (int i = all - 1; i >= 0; --i) {
      auto start = hn::Zero(places);
      Vec<T> factor = T{1};
      if (axis < s.axes - 1) {
        start = scaled<T>(hn::LoadU(places, block.at[i] + p), size);
        factor = load(block.weight[i] + p);
      }
      for (int k = 0; k < kTaps; ++k) {
        const auto outside = hn::Lt(hn::Or(start, element[k]), hn::Zero(places));  // either is negative
        const auto at = hn::IfThenElse(outside, hn::Set(places, Place<T>(-1)), hn::Add(start, element[k]));
        hn::StoreU(at, places, block.at[i * kTaps + k] + p);
        store(factor * own.weight[k], block.weight[i * kTaps + k] + p);
        if (axis == 0) inside = hn::Or(inside, at);
      }
    }
    all *= kTaps;
  }
  block.inside = block.inside && hn::AllFalse(places, hn::Lt(inside, hn::Zero(places)));
}

template <class T, int kTaps>
void set_points_of(const Sampling& s, const T* grid, int64_t points, GridBlock<T>& block) {
  block.inside = true;
  for (int64_t p = 0; p < points; p += kLanes<T>) {
    set_points<T, kTaps>(s, grid + p * s.axes, p, std::min(kLanes<T>, points - p), block);
  }
}

template <class T>
void set_block(const Sampling& s, const T* grid, int64_t points, GridBlock<T>& block) {
  const auto set = s.taps() == 1 ? set_points_of<T, 1> : s.taps() == 2 ? set_points_of<T, 2> : set_points_of<T, 4>;
  set(s, grid, points, block);
}

// Tap k of kLanes points from p on; elements outside of the image are zeros.
template <class T, bool kInside>
HWY_INLINE Vec<T> element_of(const GridBlock<T>& block, int k, int64_t p, const T* x) {
  constexpr PlaceTag<T> places;
  constexpr hn::ScalableTag<T> numbers;
  const auto at = hn::LoadU(places, block.at[k] + p);
  if constexpr (kInside) return hn::GatherIndex(numbers, x, at);
  const auto outside = hn::Lt(at, hn::Zero(places));
  return hn::IfThenZeroElse(hn::RebindMask(numbers, outside),
                            hn::GatherIndex(numbers, x, hn::IfThenZeroElse(outside, at)));
}

// The weighted sums of kLanes points from p on; the product of a zero outside of the image with a weight of NaN is NaN.
template <class T, bool kInside>
HWY_INLINE Vec<T> sums_of(const GridBlock<T>& block, int taps, int64_t p, const T* x) {
  Vec<T> sum;
  for (int k = 0; k < taps; ++k) sum += load(block.weight[k] + p) * element_of<T, kInside>(block, k, p, x);
  return sum;
}

// f(p, the sums, number of points) along a block.
template <class T, class F>
HWY_INLINE void each_sum(const Sampling& s, const GridBlock<T>& block, int64_t count, const T* x, F f) {
  const int taps = s.all_taps();
  for (int64_t p = 0; p < count; p += kLanes<T>) {
    f(p, block.inside ? sums_of<T, true>(block, taps, p, x) : sums_of<T, false>(block, taps, p, x),
      std::min(kLanes<T>, count - p));
  }
}

// Pieces are blocks of points.
void gather_blocks(const GridArgs& args, int64_t begin, int64_t end) {
  with_floating_type(args.of.dtype, [&]<class T>(T) {
    const Sampling& s = *args.s;
    const int64_t blocks = pieces_of(s.points, kGridPoints);
    GridBlock<T> block;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / blocks, first = i % blocks * kGridPoints, count = std::min(kGridPoints, s.points - first);
      set_block(s, static_cast<const T*>(args.of.grid) + (n * s.points + first) * s.axes, count, block);
      for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
        T* const y = static_cast<T*>(args.of.y) + c * s.points + first;
        each_sum(s, block, count, static_cast<const T*>(args.of.x) + c * s.image(),
                 [&](int64_t p, Vec<T> sums, int64_t lanes) { store(sums, y + p, lanes); });
      }
    }
  });
}

// The elements of x are read once for all axes.
void slope_blocks(const GridArgs& args, int64_t begin, int64_t end) {
  with_floating_type(args.of.dtype, [&]<class T>(T) {
    const Sampling& s = *args.s;
    const int64_t blocks = pieces_of(s.points, kGridPoints);
    const int taps = s.all_taps();
    GridBlock<T> block[3];
    HWY_ALIGN T totals[3][kGridPoints];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / blocks, first = i % blocks * kGridPoints, count = std::min(kGridPoints, s.points - first);
      const int64_t at = (n * s.points + first) * s.axes;
      for (int axis = 0; axis < s.axes; ++axis) {
        set_block(s.derived(axis), static_cast<const T*>(args.of.grid) + at, count, block[axis]);
        std::fill_n(totals[axis], kGridPoints, T{0});
      }
      for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
        const T* const dy = static_cast<const T*>(args.of.dy) + c * s.points + first;
        const T* const x = static_cast<const T*>(args.of.x) + c * s.image();
        for (int64_t p = 0; p < count; p += kLanes<T>) {
          Vec<T> sums[3];
          for (int k = 0; k < taps; ++k) {
            const Vec<T> value = block[0].inside ? element_of<T, true>(block[0], k, p, x)  //
                                                 : element_of<T, false>(block[0], k, p, x);
            for (int axis = 0; axis < s.axes; ++axis) sums[axis] += load(block[axis].weight[k] + p) * value;
          }
          const Vec<T> seed = load(dy + p, std::min(kLanes<T>, count - p));
          for (int axis = 0; axis < s.axes; ++axis) {
            store(load(totals[axis] + p) + seed * sums[axis], totals[axis] + p);
          }
        }
      }
      for (int axis = 0; axis < s.axes; ++axis) {
        T* const dgrid = static_cast<T*>(args.of.y) + at + axis;
        for (int64_t p = 0; p < count; ++p) dgrid[p * s.axes] = totals[axis][p];
      }
    }
  });
}

// Channels [low, high) of image n.
struct GridChannels {
  int64_t n, low, high;
};

// Whether a point adds to all channels of a group at once: not for a few points of a large image, whose sums would be
// moved for nothing.
template <class T>
bool in_lanes(const Sampling& s, int64_t channels) {
  return channels >= kLeastLanes && s.points * s.all_taps() >= s.image() &&
         s.image() * (channels + kLanes<T>) <= kMostLaneSums;
}

// Sums with the channels last: each tap of a point adds vectors of channels, in the same order as one by one.
template <class T>
void scatter_in_lanes(const Sampling& s, const GridOperands& of, const GridChannels& part) {
  const auto& use = runs::kernels<T>();
  const int64_t channels = part.high - part.low, pitch = pieces_of(channels, kLanes<T>) * kLanes<T>;
  const int64_t plane = part.n * s.channels + part.low, size = s.image() * pitch;
  const Scratch<T> sums(size), seeds(kGridPoints * pitch);
  std::fill_n(sums.get(), size, T{0});
  GridBlock<T> block;
  for (int64_t first = 0; first < s.points; first += kGridPoints) {
    const int64_t count = std::min(kGridPoints, s.points - first);
    set_block(s, static_cast<const T*>(of.grid) + (part.n * s.points + first) * s.axes, count, block);
    use.interleave(channels, count, static_cast<const T*>(of.dy) + plane * s.points + first, s.points, seeds.get(),
                   pitch);
    for (int64_t p = 0; p < count; ++p) {
      const T* const seed = seeds.get() + p * pitch;
      for (int k = 0; k < s.all_taps(); ++k) {
        if (block.at[k][p] < 0) continue;
        T* const sum = sums.get() + block.at[k][p] * pitch;
        const Vec<T> weight = block.weight[k][p];
        for (int64_t c = 0; c < pitch; c += kLanes<T>) store(load(sum + c) + weight * load(seed + c), sum + c);
      }
    }
  }
  use.separate(channels, s.image(), sums.get(), pitch, nullptr, static_cast<T*>(of.y) + plane * s.image(), s.image());
}

template <class T>
void scatter_by_channel(const Sampling& s, const GridOperands& of, const GridChannels& part) {
  T* const images = static_cast<T*>(of.y) + part.n * s.channels * s.image();
  std::fill(images + part.low * s.image(), images + part.high * s.image(), T{0});
  GridBlock<T> block;
  for (int64_t first = 0; first < s.points; first += kGridPoints) {
    const int64_t count = std::min(kGridPoints, s.points - first);
    set_block(s, static_cast<const T*>(of.grid) + (part.n * s.points + first) * s.axes, count, block);
    for (int64_t c = part.low; c < part.high; ++c) {
      const T* const dy = static_cast<const T*>(of.dy) + (part.n * s.channels + c) * s.points + first;
      T* const image = images + c * s.image();
      for (int64_t p = 0; p < count; ++p) {
        for (int k = 0; k < s.all_taps(); ++k) {
          if (block.at[k][p] >= 0) image[block.at[k][p]] += block.weight[k][p] * dy[p];
        }
      }
    }
  }
}

// Pieces are groups of channels of an image.
void scatter_groups(const GridArgs& args, int64_t begin, int64_t end) {
  with_floating_type(args.of.dtype, [&]<class T>(T) {
    const Sampling& s = *args.s;
    const int64_t groups = pieces_of(s.channels, args.group);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t low = i % groups * args.group, high = std::min(low + args.group, s.channels);
      (in_lanes<T>(s, high - low) ? scatter_in_lanes<T> : scatter_by_channel<T>)(s, args.of, {i / groups, low, high});
    }
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {

HWY_EXPORT(gather_blocks);
HWY_EXPORT(slope_blocks);
HWY_EXPORT(scatter_groups);

void grid_gather(const Sampling& s, const GridOperands& operands) {
  run_rows(kernel_of(HWY_DISPATCH_TABLE(gather_blocks)), {.s = &s, .of = operands},
           s.n * pieces_of(s.points, kGridPoints), kGridPoints * (s.channels + 4));
}

void grid_slopes(const Sampling& s, const GridOperands& operands) {
  run_rows(kernel_of(HWY_DISPATCH_TABLE(slope_blocks)), {.s = &s, .of = operands},
           s.n * pieces_of(s.points, kGridPoints), kGridPoints * s.axes * (s.channels + 4));
}

constexpr int64_t kMostGroup = 32;  // channels, whose sums for one image should stay in the second-level cache

void grid_scatter(const Sampling& s, const GridOperands& operands) {
  if (s.channels == 0) return;
  const int64_t group =
      std::min(kMostGroup, s.n >= 4 ? s.channels : std::max(kMostGroup / 4, pieces_of(s.channels, 4)));
  run_rows(kernel_of(HWY_DISPATCH_TABLE(scatter_groups)), {.s = &s, .of = operands, .group = group},
           s.n * pieces_of(s.channels, group), group * (s.points + s.image()));
}

}  // namespace tapegrad
#endif  // HWY_ONCE
