// Files that are not what their reader expects.
#pragma once

#include <string>
#include <string_view>

namespace tapegrad {

// What a file is by its first bytes (512 are enough), with a hint: "a Git LFS pointer (run `git lfs pull` ...)". Empty
// for a text, and for what is not known.
std::string foreign_kind(std::string_view start);

}  // namespace tapegrad
