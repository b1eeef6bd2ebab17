// Reads originals.txt.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/tasks/language/texts.h>
#include <tapegrad/train/metrics/words.h>
#include <tapegrad/tutorials/originals.h>
#include <tapegrad/tutorials/texts.h>

#include <algorithm>
#include <string>

namespace tapegrad::tasks::tutorial {
namespace {

// After the tutorial and a space: "8.2.5" of "003 8.2.5".
std::string_view after_number(std::string_view text) { return text.substr(std::min<std::size_t>(4, text.size())); }

std::vector<Original> read_originals() {
  EntryReader file("originals");
  std::vector<Original> all;
  while (const Entry* const tutorial = file.take_if("tutorial")) {
    const std::string_view text = tutorial->text;
    Original one{text.substr(0, 3), after_number(text), file.take_text()};
    file.take("by");
    one.by = file.take_text();
    while (const Entry* const place = file.take_if("place")) {
      one.places.push_back({after_number(place->value), parts_of(place->lines, '\n')});
      if (const Entry* const names = file.take_if("names")) one.places.back().names = parts_of(names->text, ' ');
    }
    all.push_back(std::move(one));
  }
  file.expect_end();
  return all;
}

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Letters and digits, in lower case: what two spellings of a heading have in common.
std::string letters_of(std::string_view text) {
  std::string out;
  for (const char c : metrics::ascii_lower(text))
    if ((c >= 'a' && c <= 'z') || is_digit(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80) out += c;
  return out;
}

// Without "## 2.1", and without a number's "." or ")".
std::string_view without_number(std::string_view heading) {
  const std::size_t start = heading.find_first_not_of("# 0123456789.)");
  return heading.substr(std::min(start, heading.size()));
}

// The name in a line of Python.
std::string_view name_in(std::string_view words) {
  for (const std::string_view keyword : {"import ", "class ", "def "})
    if (const std::size_t at = words.find(keyword); at != words.npos) words.remove_prefix(at + keyword.size());
  return words.substr(0, words.find_first_of("(:"));
}

}  // namespace

std::span<const Original> originals() {
  static const std::vector<Original> kAll = read_originals();
  return kAll;
}

const Original& original_of(std::string_view tutorial) {
  for (const Original& one : originals())
    if (one.tutorial == tutorial) return one;
  fail("tutorial", fmt::format("there is no tutorial {}", tutorial));
}

bool is_called(const OriginalPlace& place, std::string_view words) {
  const std::string asked = letters_of(words), bare = letters_of(without_number(words)),
                    name = letters_of(name_in(words));
  if (bare.empty()) return false;
  const bool numbered = asked != bare;
  return std::any_of(place.headings.begin(), place.headings.end(),
                     [&](std::string_view heading) {
                       const std::string own = letters_of(heading);
                       return own == asked || (!numbered && letters_of(without_number(heading)) == bare);
                     }) ||
         std::any_of(place.names.begin(), place.names.end(),
                     [&](std::string_view one) { return letters_of(one) == name; });
}

}  // namespace tapegrad::tasks::tutorial
