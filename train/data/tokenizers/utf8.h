// UTF-8 text that need not be valid: decoding character by character, counting and repairing.
#pragma once

#include <tapegrad/autograd/compiler.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tapegrad::data {

/// What first_character() found.
struct Character {
  uint32_t code;  ///< the code point; U+FFFD where the bytes are not valid
  int bytes;      ///< how many bytes it takes
  bool valid;     ///< by RFC 3629
  bool cut;       ///< not valid because the text ends within the character
};

/// The character at the start of `text`, which must not be empty. Invalid bytes are taken in the pieces that Python's
/// errors="replace" replaces by one U+FFFD each (The Unicode Standard 3.9, maximal subparts).
Character first_character(std::string_view text);

/// Whether the byte is one of those that follow the first one of a character. A character begins at every other byte.
constexpr bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

/// A code point in UTF-8; U+FFFD for surrogates and values above U+10FFFF.
std::string utf8(uint32_t code);

/// The number of characters, as Python's len() of the text decoded with errors="replace".
int64_t count_characters(std::string_view text);

/// The text with U+FFFD in place of invalid bytes, as Python's bytes.decode(errors="replace").
std::string valid_utf8(std::string_view text);

/// The first int(share * characters) characters, and the rest. Error unless 0 <= share <= 1.
std::pair<std::string_view, std::string_view> split_characters(std::string_view text, double share);

}  // namespace tapegrad::data
