// Shared by pooling and interpolation: images and volumes as planes, and the windows along one axis.
#pragma once

#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/spatial.h>

#include <cstdint>

namespace tapegrad {

/// x [..., C, L], [..., C, H, W] or [..., C, D, H, W] as [count, d, h, w]; a signal has h = 1, an image d = 1.
struct Planes {
  int axes;  // spatial ones: 1, 2 or 3
  int64_t count = 1, d = 1, h = 1, w = 1;
  /// Error unless x is floating, has the spatial axes, C and perhaps N, and no spatial size of 0.
  Planes(const Op& op, const Tensor& x, int axes, bool unbatched = true);
  /// x with its last two axes as planes, the others as `count`.
  explicit Planes(const Tensor& x);
  /// The shape of x with other sizes of its planes.
  Shape resized(const Tensor& x, int64_t out_h, int64_t out_w) const;
  int64_t size(int axis) const { return axis == axes - 1 ? w : axis == axes - 2 ? h : d; }
  Planes each_depth() const;  ///< the same, with the depths among `count`
};

/// x [..., D, H, W] -> [..., D, H W], and back: a volume as one plane for each channel.
Tensor depth_by_plane(const Tensor& x);
Tensor plane_unflattened(const Tensor& x, int64_t h, int64_t w);

/// The outputs [begin, end) of an axis that all read `count` elements, each `stride` elements after the previous one.
struct RegularRun {
  int64_t begin = 0, end = 0;
  int64_t stride = 1, count = 1;
};

/// The run around the middle of `out` outputs; the others extend into the padding or are shorter.
RegularRun regular_run(int64_t out, auto first, auto count) {
  if (out == 0) return {};
  const int64_t middle = (out - 1) / 2, next = middle + 1 < out ? middle + 1 : middle;
  RegularRun run{middle, middle + 1, next > middle ? first(next) - first(middle) : 1, count(middle)};
  const auto fits = [&](int64_t a, int64_t b) {
    return count(a) == run.count && count(b) == run.count && first(b) - first(a) == run.stride;
  };
  while (run.begin > 0 && fits(run.begin - 1, run.begin)) --run.begin;
  while (run.end < out && fits(run.end - 1, run.end)) ++run.end;
  return run;
}

/// Windows along an axis: window o has `count` elements first, first + step, ..., all inside the axis.
struct Windows {
  struct Window {
    int64_t first, count;
    int64_t padded;  // number of elements, including the padding
  };
  int64_t in = 1;
  int64_t step = 1;  // dilation
  PoolVector<Window> windows;

  int64_t out() const { return static_cast<int64_t>(windows.size()); }
};

struct WindowSettings {
  const PerAxis<int64_t>& kernel;
  const PerAxis<int64_t>& stride;  // optional
  const PerAxis<int64_t>& padding;
  const PerAxis<int64_t>& dilation;
  bool ceil_mode;
};

/// Of height and width.
struct WindowPair {
  Windows h, w;
};
/// The windows of a pooling operation; axes that x does not have are single elements.
struct PoolWindows {
  Windows d;
  WindowPair plane;
};
/// Error for invalid settings.
PoolWindows sliding_windows(const Op& op, const Tensor& x, const Planes& planes, const WindowSettings& settings);
PoolWindows adaptive_windows(const Op& op, const Planes& planes, const PerAxis<int64_t>& output_size);
/// One window for each element of an axis.
Windows single_elements(int64_t size);

}  // namespace tapegrad
