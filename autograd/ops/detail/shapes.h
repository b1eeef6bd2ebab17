// Shapes that differ a little from another one.
#pragma once

#include <tapegrad/autograd/shape.h>

#include <initializer_list>

namespace tapegrad {

/// The shape with `size` elements along one axis.
inline Shape with_size(Shape shape, int axis, int64_t size) {
  shape[axis] = size;
  return shape;
}
/// The shape [batch..., sizes...].
inline Shape with_axes(Shape batch, std::initializer_list<int64_t> sizes) {
  for (const int64_t size : sizes) batch.push_back(size);
  return batch;
}
/// The shape without one axis.
inline Shape without_axis(Shape shape, int axis) {
  shape.erase(axis < 0 ? shape.rank() + axis : axis);
  return shape;
}

}  // namespace tapegrad
