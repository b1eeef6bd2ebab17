// Which operations put given numbers in place of elements.
#pragma once

#include <tapegrad/autograd/op.h>

namespace tapegrad {

/// where and masked_fill: an infinite element of their result was given to them.
bool selects(const Op& op);

}  // namespace tapegrad
