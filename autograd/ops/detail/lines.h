// Lines along one axis of tensors of any strides, and copies into views.
#pragma once

#include <tapegrad/autograd/kernels/kernel.h>

namespace tapegrad {

/// The lines of `shape` along one axis, numbered over the other axes.
struct AxisLines {
  Shape shape;  // 1 in the axis
  int64_t size;
  int64_t count;
  AxisLines(const Shape& whole, int axis) : shape(whole), size(whole[axis]) {
    shape[axis] = 1;
    count = shape.numel();
  }
  /// Where a line starts in a tensor with these strides.
  int64_t start(int64_t line, const Strides& strides) const {
    int64_t offset = 0;
    for (int i = shape.rank() - 1; i >= 0; --i) {
      offset += line % shape[i] * strides[i];
      line /= shape[i];
    }
    return offset;
  }
};

/// f(first, count) for adjacent lines along the last axis, or for single lines if they run along it.
void each_group(const AxisLines& lines, auto f) {
  constexpr int64_t kWidth = 64;
  const int64_t row = lines.shape.empty() ? 1 : lines.shape.back();  // 1 where the lines run along the last axis
  const int64_t width = std::min(row, kWidth), groups = pieces_of(row, width);
  parallel_for_each(row == 0 ? 0 : lines.count / row * groups, rows_grain(lines.size * width), [&](int64_t i) {
    const int64_t first = i % groups * width;
    f(i / groups * row + first, std::min(width, row - first));
  });
}

/// Copies x, which broadcasts, into a view of a fresh tensor of the same type. Not recorded. No two elements of the
/// view may share memory.
void copy_into_view(const Tensor& view, const Tensor& x);

}  // namespace tapegrad
