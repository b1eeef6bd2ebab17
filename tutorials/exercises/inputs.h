// Numbers that several exercises are checked with.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad::tasks::exercises {

/// Numbers without a pattern between -2 and 2, the same ones for the same shape.
Tensor numbers_of(const Shape& shape);

}  // namespace tapegrad::tasks::exercises
