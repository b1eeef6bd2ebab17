// Names of leaves, for error messages; a tensor does not store its name.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <string>
#include <string_view>

namespace tapegrad::detail {

/// Names a leaf, frozen or not; an empty name removes the entry. The caller must remove the name again.
void name_leaf(const TapeIndex& leaf, std::string_view name);
/// "" for a leaf without a name.
std::string leaf_name(const TapeIndex& leaf);

}  // namespace tapegrad::detail
