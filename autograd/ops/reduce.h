// What the reductions share: how a tensor is seen as [outer, n, inner] with the middle to be folded, and the folding.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

// The folds that have a kernel. Maximum and minimum let NaN win.
enum class Fold { sum, product, maximum, minimum };

// x as contiguous [outer, n, inner], the axes of the reduction merged into the middle one.
struct Folding {
  Tensor x;  // no tape knows it
  int64_t outer = 1;
  int64_t n = 1;
  int64_t inner = 1;
};

// Checks the axes. A copy is made only where the memory of x does not read that way; with `rows`, also where inner > 1.
Folding fold_axes(std::string_view where, const Tensor& x, const Axes& axes, bool rows = false);

// y [outer, inner] (fresh, contiguous, type of x) = fold of x [outer, n, inner]; int64, float32 and float64. Cut into
// blocks by the sizes alone.
void fold(Fold f, const Folding& x, const Tensor& y);

// Which rows of x [..., n] hold nothing but -inf: bool [..., 1]; rows without elements do too. Not recorded.
Tensor rows_of_minus_infinity(const Tensor& x);

// dy of a reduction over `axes` of `shape`, stretched back to `shape` by views (recorded).
Tensor unfold(const Tensor& dy, const Shape& shape, const Axes& axes);

}  // namespace tapegrad
