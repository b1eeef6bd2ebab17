// Shared by the reductions: a tensor as [outer, n, inner] whose middle axis is reduced, and the reduction itself.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

/// The reductions that have a kernel. Maximum and minimum of a row with NaN are NaN.
enum class ReduceKind { sum, product, maximum, minimum };
/// What is reduced: x, |x| or x^2; the last two only for floating types.
enum class ReduceOf { value, size, square };

/// x as contiguous [outer, n, inner], the reduced axes merged into the middle one.
struct ReduceView {
  Tensor x;  // not recorded
  int64_t outer = 1;
  int64_t n = 1;
  int64_t inner = 1;
};

/// Checks the axes. Copies only where the memory of x cannot be read as [outer, n, inner]; with `rows`, also where
/// inner > 1.
ReduceView view_for_reduction(std::string_view where, const Tensor& x, const Axes& axes, bool rows = false);

/// The axes of `shape` in an order that puts the reduced ones last.
Dims reduced_axes_last(std::string_view where, const Shape& shape, const Axes& axes);

/// y [outer, inner] (fresh, contiguous, of x's type) = reduction of x [outer, n, inner]; int64, float32 and float64.
/// The division into blocks depends on the sizes only.
void reduce(ReduceKind kind, const ReduceView& x, const Tensor& y, ReduceOf of = ReduceOf::value);

/// The reduction of x over axes, in the type of x. Not recorded.
Tensor reduced(std::string_view where, ReduceKind kind, const Tensor& x, const Axes& axes, bool keepdim,
               ReduceOf of = ReduceOf::value);

/// Error "[where] expected at least one element along axes ..." if the reduction has results, but no elements for them.
void require_elements(std::string_view where, const Tensor& x, const Axes& axes);

/// Which rows of x [..., n] consist of -inf only: bool [..., 1]; also true for rows without elements. Not recorded.
Tensor rows_of_minus_infinity(const Tensor& x);

/// dy of a reduction over `axes` of `shape`, expanded back to `shape` by views (recorded).
Tensor expand_to_input(const Tensor& dy, const Shape& shape, const Axes& axes);

/// dy of a reduction, divided evenly among the elements that `chosen` (bool, in the shape of the operand) marks for
/// each result (recorded).
Tensor share_evenly(const Tensor& dy, const Tensor& chosen, const Axes& axes);

}  // namespace tapegrad
