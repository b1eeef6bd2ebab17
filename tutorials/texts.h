// The texts of sections and exercises: files of their own, which cmake/embed.cmake writes into a source file.
#pragma once

#include <tapegrad/tasks/language/language.h>
#include <tapegrad/tasks/language/texts.h>

#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks::tutorial {

/// One entry of a text file: "key: value", and below it lines that are indented by two spaces. Lines with # are
/// comments.
struct Entry {
  std::string key, value;
  std::string lines;  ///< without the indentation, each with its end
  std::string text;   ///< value and lines as one text, with single spaces between words
};
/// Error, with the file's name, for a line that is neither an entry nor indented.
std::vector<Entry> entries_of(const EmbeddedFile& file);

/// Reads the entries of a file in their order. They live as long as the program, so that views of them do.
class EntryReader {
 public:
  /// A file in sections/ or exercises/set/, named by its folder and itself: "sections/003-8.2.5". Error if there is
  /// no such file.
  explicit EntryReader(std::string_view name);
  /// The next entry, which must have this key; Error with the place in the file if it has not.
  const Entry& take(std::string_view key);
  /// The next entry if it has this key, nullptr otherwise.
  const Entry* take_if(std::string_view key);
  /// The next two entries, "ko" and "en"; take_text_if: or nothing, if the next entry is another one.
  Text take_text();
  Text take_text_if();
  /// Error unless all entries were taken.
  void expect_end() const;

 private:
  [[noreturn]] void expected(std::string_view what) const;

  std::string name_;
  const std::vector<Entry>* entries_;
  std::size_t next_ = 0;
};

}  // namespace tapegrad::tasks::tutorial
