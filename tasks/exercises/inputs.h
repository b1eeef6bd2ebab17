// Tensors that several exercises are checked with.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad::tasks::exercises {

/// Your journey starts with one step: the six words of tutorial 004, [6, 3].
Tensor sentence();
/// The scores of four words in tutorial 003, section 8.2.5, [4, 4].
Tensor scores_of_words();
/// Numbers without a pattern between -2 and 2, the same ones for the same shape.
Tensor numbers_of(const Shape& shape);

}  // namespace tapegrad::tasks::exercises
