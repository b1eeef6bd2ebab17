// Files that are not what their reader expects.
#pragma once

#include <string>
#include <string_view>

namespace tapegrad {

// What a file is by its first bytes (512 are enough), with a hint: "a Git LFS pointer (run `git lfs pull` ...)". Empty
// for a text, and for what is not known.
std::string foreign_kind(std::string_view start);

// The same where any text is expected: HTML and XML are texts, too.
std::string foreign_to_text(std::string_view start);

// "a text that begins with "Entry not found"": what servers send instead of a file that is not there. Empty unless the
// bytes are printable ASCII.
std::string kind_of_text(std::string_view start);

// Error "[file] PATH: expected a text, got ..." by the first bytes of what was read.
void require_plain_text(const std::string& path, std::string_view start);

}  // namespace tapegrad
