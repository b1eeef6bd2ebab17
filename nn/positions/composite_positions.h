// An added positional encoding and a relative one at once.
#pragma once

#include <tapegrad/autograd/compiler.h>

#include <string>

namespace tapegrad::nn {

/// Alpha times the P of the added kind is added to the embeddings; beta multiplies the effect of the relative kind:
/// T5's and ALiBi's bias, the contribution of Shaw's vectors, and RoPE's angles. Both are learned, and 1 initially.
struct CompositePositionOptions {
  std::string added = "sinusoidal";  ///< of added_position_names()
  std::string relative = "rope";     ///< of relative_position_names()
};

}  // namespace tapegrad::nn
