// Texts in files, which cmake/embed.cmake writes into a source file: what the command prints or makes that is content,
// not code.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapegrad::tasks {

/// A file by its path in the sources: "tutorials/explain/copy.txt".
struct EmbeddedFile {
  std::string_view name, text;
};
std::span<const EmbeddedFile> embedded_files();
/// The text of one. Error for an unknown name.
std::string_view text_of_file(std::string_view name);

/// The part of a file after the line "[part]", up to the next line that begins with a bracket. Error if there is none.
std::string_view text_of_file(std::string_view name, std::string_view part);
/// The parts of a text between separators, without empty ones.
std::vector<std::string_view> parts_of(std::string_view text, char separator);
/// The lines of such a part of a file that are not empty.
std::vector<std::string_view> lines_of_file(std::string_view name, std::string_view part);

/// What takes the places of {name} in a text, written as fmt does.
struct Value {
  template <class T>
  Value(std::string name, const T& value) : name(std::move(name)), text(fmt::format("{}", value)) {}

  std::string name, text;
};
/// The text with each value in its places.
std::string filled(std::string_view text, const std::vector<Value>& values);
/// The part of a file in the language of the environment, "[en]" or "[ko]", or with a name "[example.en]", filled.
std::string essay(std::string_view file, const std::vector<Value>& values, std::string_view part = "");

}  // namespace tapegrad::tasks
