// Shared by the losses: checks of classes, targets and weights, and the reduction of the losses of all rows.
#pragma once

#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops.h>

namespace tapegrad {

/// Error unless x is floating [..., V], target int64 [...], and weight empty or [V] in the type of x.
void require_classes(const Op& op, const Tensor& x, const Tensor& target, const Tensor& weight);

/// The number of targets (contiguous) that are not ignored; with weights [V] (contiguous), the sum of their weights.
/// Error, with value, index and range, for a target that is neither a class nor ignored.
double count_targets(const Op& op, const Tensor& target, const Tensor& weight, int64_t classes, int64_t ignore_index);

/// Reduces the losses of all rows; a mean divides by `divisor`, and is NaN if that is 0. Not recorded.
Tensor reduce_losses(const Tensor& losses, Reduction reduction, double divisor);

/// The losses reduced by recorded operations.
Tensor reduce_recorded(const Tensor& losses, Reduction reduction);

}  // namespace tapegrad
