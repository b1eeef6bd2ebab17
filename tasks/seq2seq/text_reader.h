// Reads an --expression from left to right, and says where it is wrong.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tapegrad::tasks {

class TextReader {
 protected:
  explicit TextReader(std::string_view text) : text_(text) {}

  bool done() const { return at_ == text_.size(); }
  char here() const { return text_[at_]; }  // unless done()
  bool at_digit() const { return !done() && here() >= '0' && here() <= '9'; }
  void skip_blanks();
  // Of a byte of the text: counted in characters, from 1.
  std::size_t column_of(std::size_t at) const;
  // The text around the place that is read, in quotes and printable.
  std::string quoted() const;
  // BadRequest: `"31a+98": column 3: expected a digit or +, got 'a'`, and then the hint.
  [[noreturn]] void fault(std::string_view expected, std::string_view hint = "") const;

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace tapegrad::tasks
