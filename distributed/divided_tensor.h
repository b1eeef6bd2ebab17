// A tensor that processes have divided between them.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tapegrad::distributed {

/// A named tensor of which each process has some elements, in row-major order.
struct DividedTensor {
  /// Elements [begin, end), and the process that has them.
  struct Part {
    int64_t rank = 0;   ///< of the process
    int64_t begin = 0;  ///< first element
    int64_t end = 0;    ///< after the last one
  };
  std::string name;         ///< as in the checkpoint
  Shape shape;              ///< of the whole tensor
  DType dtype = kFloat32;   ///< of the whole tensor
  std::vector<Part> parts;  ///< all elements; at most one part per process
  Tensor own = {};          ///< those of this process, flat; an empty handle if it has none
};

}  // namespace tapegrad::distributed
