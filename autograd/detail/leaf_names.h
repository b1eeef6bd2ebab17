// Names of leaves, for error messages: a tensor has no room for one.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <string>
#include <string_view>

namespace tapegrad::detail {

/// Names a leaf, which is frozen or not; an empty name removes it. To be removed by whoever set it.
void name_leaf(const TapeIndex& leaf, std::string_view name);
/// "" for a leaf without a name.
std::string leaf_name(const TapeIndex& leaf);

}  // namespace tapegrad::detail
