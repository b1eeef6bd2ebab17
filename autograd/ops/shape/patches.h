// Patches of images: as columns, added back, and exchanged with channels.
#pragma once

#include <tapegrad/autograd/spatial.h>
#include <tapegrad/autograd/tensor.h>

#include <cstdint>

namespace tapegrad {

struct FoldOptions {
  PerAxis<int64_t> dilation = 1;  ///< distance between the elements of a patch
  PerAxis<int64_t> padding = 0;   ///< zeros on each side
  PerAxis<int64_t> stride = 1;    ///< distance between patches
};
/// The patches of x [N, C, H, W] or [C, H, W] as columns, [N, C KH KW, L] or [C KH KW, L], where L counts the patches
/// in row-major order: torch.nn.functional.unfold. float32 or float64. Error for settings below 1 (padding: 0), and if
/// a patch is larger than the padded image. (unfold in views.h has the windows of one axis.)
Tensor unfold2d(const Tensor& x, const PerAxis<int64_t>& kernel_size, const FoldOptions& options = {});
/// The reverse: adds the patches in columns [N, C KH KW, L] or [C KH KW, L] to zeros [N, C, H, W] or [C, H, W], where
/// output_size is {H, W}. The gradient of unfold2d. Error unless L is the number of patches.
Tensor fold2d(const Tensor& columns, const PerAxis<int64_t>& output_size, const PerAxis<int64_t>& kernel_size,
              const FoldOptions& options = {});

/// [..., C r r, H, W] -> [..., C, H r, W r]: r * r channels are the elements of a patch, in row-major order. Error
/// unless factor is 1 or more and its square divides the channels. Shi et al. 2016.
Tensor pixel_shuffle(const Tensor& x, int64_t factor);
/// The reverse: [..., C, H r, W r] -> [..., C r r, H, W]. Error unless factor is 1 or more and divides H and W.
Tensor pixel_unshuffle(const Tensor& x, int64_t factor);
/// [N, C, ...] with the channels in another order: channel c of group g moves from g C / groups + c to c groups + g.
/// Error unless groups is 1 or more and divides C, and for fewer than three axes. Zhang et al. 2018 (ShuffleNet).
Tensor channel_shuffle(const Tensor& x, int64_t groups);

}  // namespace tapegrad
