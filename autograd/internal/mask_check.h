// A check of attention masks.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <string_view>

namespace tapegrad {

// Error "[where] ..." for a floating mask with only ones and zeros: added to the scores, it masks nothing, so it was
// probably meant to be bool. A mask of zeros only, or one that requires a gradient, is accepted. A large mask is only
// checked completely if a sample of some thousand elements has ones, and no values but ones and zeros.
void require_mask_of_scores(std::string_view where, const Tensor& mask);

}  // namespace tapegrad
