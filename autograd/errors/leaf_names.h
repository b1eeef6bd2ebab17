// Names of leaves, for error messages; a tensor does not store its name.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <string>
#include <string_view>

namespace tapegrad::detail {

/// Names a leaf, frozen or not, and the type of the module that has it; an empty name removes the entry. The caller
/// must remove the name again.
void name_leaf(const TapeIndex& leaf, std::string_view name, std::string_view owner = {});
/// "" for a leaf without a name.
std::string leaf_name(const TapeIndex& leaf);

/// The leaf that the thread's code has used last, through nn::Parameter: the place of an error in a model. A tape
/// begins with none.
extern constinit thread_local TapeIndex last_leaf;
/// " (near ups.0.norm, a GroupNorm)" for a leaf with the name "ups.0.norm.weight"; "" for one without a name.
std::string place_of(const TapeIndex& leaf);

}  // namespace tapegrad::detail
