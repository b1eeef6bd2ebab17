// UTF-8 text, of which nobody promises that it is valid: one character after another, counts and repairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tapegrad::data {

struct Character {
  uint32_t code;  // U+FFFD where there is no valid character
  int bytes;
  bool valid;
  bool cut;  // not valid, but more bytes behind the text could have made it so
};

// The character at the start of `text`, which must not be empty. Bytes that are none come in the pieces that one U+FFFD
// each stands for in Python's errors="replace" (The Unicode Standard 3.9, maximal subparts).
Character first_character(std::string_view text);

// The character in UTF-8. A code that no character can have becomes U+FFFD.
std::string utf8(uint32_t code);

// How many characters `text` has, as Python's len() of the text read with errors="replace".
int64_t count_characters(std::string_view text);

// The text with U+FFFD in the place of all that is no character: Python's bytes.decode(errors="replace").
std::string valid_utf8(std::string_view text);

// The first int(share * characters) characters, and the rest. Error unless 0 <= share <= 1.
std::pair<std::string_view, std::string_view> split_characters(std::string_view text, double share);

}  // namespace tapegrad::data
