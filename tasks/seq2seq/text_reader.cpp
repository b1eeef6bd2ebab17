// Columns, and texts that may hold any bytes.
// build: fuzzed
#include <fmt/format.h>
#include <tapegrad/tasks/seq2seq/text_reader.h>
#include <tapegrad/tasks/settings/bad_request.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

// Bytes that continue a UTF-8 character do not count as columns.
bool goes_on(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

void TextReader::skip_blanks() {
  while (!done() && (here() == ' ' || here() == '\t')) ++at_;
}

std::size_t TextReader::column_of(std::size_t at) const {
  return 1 + static_cast<std::size_t>(std::count_if(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at),
                                                    [](char c) { return !goes_on(c); }));
}

std::string TextReader::quoted() const {
  constexpr std::size_t kAround = 30;
  std::size_t begin = at_ > kAround ? at_ - kAround : 0, end = std::min(text_.size(), at_ + kAround);
  while (begin > 0 && goes_on(text_[begin])) --begin;
  while (end < text_.size() && goes_on(text_[end])) ++end;
  return fmt::format("\"{}{}{}\"", begin > 0 ? "..." : "", text_.substr(begin, end - begin),
                     end < text_.size() ? "..." : "");
}

void TextReader::fault(std::string_view expected, std::string_view hint) const {
  std::size_t end = at_ + 1;
  while (end < text_.size() && goes_on(text_[end])) ++end;
  const std::string got = done() ? "the end" : fmt::format("'{}'", text_.substr(at_, end - at_));
  bad_request("--expression", "{}: column {}: expected {}, got {}{}", quoted(), column_of(at_), expected, got, hint);
}

}  // namespace tapegrad::tasks
