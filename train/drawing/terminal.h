// What the standard streams support: rewritten lines, and colours. Only these functions query it.
#pragma once

#include <tapegrad/autograd/compiler.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace tapegrad::drawing {

/// Whether a stream is a terminal that can rewrite a line: the variable TERM is not "dumb".
bool is_terminal(std::FILE* stream);
/// Whether it is one that may have colours, too: the variable NO_COLOR is unset or empty (no-color.org), and no
/// launcher of MPI started this process.
bool has_colour(std::FILE* stream);

/// What a colour means.
enum class Paint {
  heading,  ///< bold
  good,     ///< green
  bad,      ///< red
  bar,      ///< of a progress bar: cyan
};
/// The text in a colour if `stream` has colours; otherwise as it is.
std::string painted(std::string_view text, Paint paint, std::FILE* stream);

/// A page of text with its headings and marks in colour if `stream` has colours; otherwise as it is. Headings are lines
/// "=== a title ===" and "--- a part ---". Marks are the words ok, right, WRONG and wrong where a line ends or two
/// spaces or more follow, and two spaces or more, or ") ", precede.
std::string painted_page(std::string_view text, std::FILE* stream);

/// The text as a word of a shell: in quotes where it contains characters that names do not have.
std::string shell_word(std::string_view text);

/// Replaces the last line of standard error, which must be a terminal; "" removes it. A terminal that is gone changes
/// nothing.
void rewrite_line(std::string_view text);

}  // namespace tapegrad::drawing
