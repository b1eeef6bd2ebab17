// Changes of shape as modules, for nn::Sequential.
#pragma once

#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/patches.h>
#include <tapegrad/nn/module.h>

namespace tapegrad::nn {

/// Returns x.
struct Identity {
  Tensor operator()(const Tensor& x) const { return x; }
  void visit(auto&&) {}
};

/// Merges axes start .. end: [B, C, H, W] -> [B, C H W]. A view if the strides allow it.
struct Flatten {
  explicit Flatten(int64_t first = 1, int64_t last = -1) : start(first), end(last) {}
  Tensor operator()(const Tensor& x) const { return x.flatten(start, end); }
  void visit(auto&&) {}

  int64_t start, end;  ///< the first and the last axis; negative ones count from the end
};

/// Splits an axis into several of these sizes; one of them may be -1, to be inferred. A view. Error unless their
/// product is the size of the axis.
struct Unflatten {
  Unflatten(int64_t which, const Shape& into) : axis(which), sizes(into) {}
  Tensor operator()(const Tensor& x) const { return unflatten(x, axis, sizes); }
  void visit(auto&&) {}

  int64_t axis;  ///< that is split
  Shape sizes;   ///< of the new axes
};

/// [..., C r r, H, W] -> [..., C, H r, W r]: pixel_shuffle.
struct PixelShuffle {
  explicit PixelShuffle(int64_t upscale) : factor(upscale) {}
  Tensor operator()(const Tensor& x) const { return pixel_shuffle(x, factor); }
  void visit(auto&&) {}

  int64_t factor;  ///< by which H and W grow
};

/// [..., C, H r, W r] -> [..., C r r, H, W]: pixel_unshuffle.
struct PixelUnshuffle {
  explicit PixelUnshuffle(int64_t downscale) : factor(downscale) {}
  Tensor operator()(const Tensor& x) const { return pixel_unshuffle(x, factor); }
  void visit(auto&&) {}

  int64_t factor;  ///< by which H and W shrink
};

/// The channels of x [N, C, ...] in another order: channel_shuffle.
struct ChannelShuffle {
  explicit ChannelShuffle(int64_t count) : groups(count) {}
  Tensor operator()(const Tensor& x) const { return channel_shuffle(x, groups); }
  void visit(auto&&) {}

  int64_t groups;  ///< of channels; divides C
};

/// The patches of x [N, C, H, W] or [C, H, W] as columns: unfold2d.
struct Unfold {
  explicit Unfold(const PerAxis<int64_t>& kernel, const FoldOptions& folding = {})
      : kernel_size(kernel), options(folding) {}
  Tensor operator()(const Tensor& x) const { return unfold2d(x, kernel_size, options); }
  void visit(auto&&) {}

  PerAxis<int64_t> kernel_size;  ///< {KH, KW}, or one number for both
  FoldOptions options;           ///< as given
};

/// The sum of the patches in columns [N, C KH KW, L] or [C KH KW, L]: fold2d.
struct Fold {
  Fold(const PerAxis<int64_t>& size, const PerAxis<int64_t>& kernel, const FoldOptions& folding = {})
      : output_size(size), kernel_size(kernel), options(folding) {}
  Tensor operator()(const Tensor& columns) const { return fold2d(columns, output_size, kernel_size, options); }
  void visit(auto&&) {}

  PerAxis<int64_t> output_size, kernel_size;  ///< {H, W} of the result, and {KH, KW}
  FoldOptions options;                        ///< as given
};

}  // namespace tapegrad::nn
