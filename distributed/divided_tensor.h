// A tensor whose elements are divided between processes.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tapegrad::distributed {

/// A named tensor whose elements, in row-major order, are divided between processes.
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
  Tensor own = {};          ///< the elements of this process, flat; an empty handle for none
};

}  // namespace tapegrad::distributed
