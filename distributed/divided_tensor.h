// A tensor that processes have divided between them.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tapegrad::distributed {

/// A named tensor of which each process has some elements, in row-major order.
struct DividedTensor {
  struct Part {
    int64_t rank = 0, begin = 0, end = 0;  ///< who has elements [begin, end)
  };
  std::string name;
  Shape shape;
  DType dtype = kFloat32;
  std::vector<Part> parts;  ///< all elements; at most one part per process
  Tensor own = {};          ///< those of this process, flat; an empty handle if it has none
};

}  // namespace tapegrad::distributed
