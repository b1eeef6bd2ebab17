// Shared by the losses: checks of classes and targets, and the reduction of the losses of all rows.
#pragma once

#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops.h>

namespace tapegrad {

/// Error unless x is floating [..., V] and target int64 [...].
void require_classes(const Op& op, const Tensor& x, const Tensor& target);

/// The number of targets (contiguous) that are not ignored. Error, with value, index and range, for a target that is
/// neither a class nor ignored.
int64_t count_targets(const Op& op, const Tensor& target, int64_t classes, int64_t ignore_index);

/// The losses of all rows reduced to one number, or as they are; a mean divides by `count`, and is NaN where that is 0.
/// Not recorded.
Tensor reduce_losses(const Tensor& losses, Reduction reduction, int64_t count);

}  // namespace tapegrad
