// A check of attention masks.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <string_view>

namespace tapegrad {

// Error "[where] ..." for a floating mask of ones and zeros alone: added to scores it hides nothing, so it was meant to
// be bool. Not for zeros alone, and not for one that is trained. Stops at the first other value.
void require_mask_of_scores(std::string_view where, const Tensor& mask);

}  // namespace tapegrad
