// How errors name one element of a tensor.
#pragma once

#include <tapegrad/autograd/shape.h>

namespace tapegrad {

// "[1, 4]": the index of the element at `flat` in row-major order.
inline std::string index_text(int64_t flat, const Shape& shape) {
  Dims index = shape;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    index[i] = flat % shape[i];
    flat /= shape[i];
  }
  return str(index);
}

}  // namespace tapegrad
