// Shared by the losses: checks of classes, targets and weights, and the reduction of the losses of all rows.
#pragma once

#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops.h>

#include <initializer_list>
#include <optional>
#include <string_view>

namespace tapegrad {

/// Error unless x is floating, weight empty or [V] in the type of x and without a gradient, and target integers with
/// the axes of x except `axis`, which has the V classes. Returns that axis, counted from the start.
int require_classes(std::string_view where, const Tensor& x, const Tensor& target, const Tensor& weight, int64_t axis);
/// The same without the target; the weight may need a gradient.
int require_weight(std::string_view where, const Tensor& x, const Tensor& weight, int64_t axis);

/// Error, with value, index and range, for a target that is not a class, and not `ignore_index` if there is one.
void require_range(std::string_view where, const Tensor& target, int64_t classes, std::optional<int64_t> ignore_index);

inline Tensor last_axis(const Tensor& x, int axis) { return axis == x.dim() - 1 ? x : movedim(x, axis, -1); }

/// The number of targets (contiguous) that are not ignored; with weights [V] (contiguous), the sum of their weights.
/// The Error of require_range.
double count_targets(std::string_view where, const Tensor& target, const Tensor& weight, int64_t classes,
                     int64_t ignore_index);

/// The shape of elementwise losses: operands broadcast to the shape of one of them. Error if the losses would be a
/// table that is larger than any operand, as for [N, 1] and [N].
Shape shape_of_losses(std::string_view where, std::initializer_list<const Tensor*> operands);

/// Reduces the losses of all rows; a mean divides by `divisor`, and is NaN if that is 0. Not recorded.
Tensor reduce_losses(const Tensor& losses, Reduction reduction, double divisor);

/// The losses reduced by recorded operations.
Tensor reduce_recorded(const Tensor& losses, Reduction reduction);

}  // namespace tapegrad
