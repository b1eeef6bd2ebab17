// Finds texts and their parts, and fills in values.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/tasks/language/language.h>
#include <tapegrad/tasks/language/texts.h>

#include <algorithm>

namespace tapegrad::tasks {

std::string_view text_of_file(std::string_view name) {
  const std::span<const EmbeddedFile> all = embedded_files();
  const auto found = std::ranges::find(all, name, &EmbeddedFile::name);
  if (found == all.end()) fail("text", "expected the file {}, got none", name);
  return found->text;
}

std::string_view text_of_file(std::string_view name, std::string_view part) {
  std::string_view text = text_of_file(name);
  const std::string heading = fmt::format("\n[{}]\n", part);
  const std::size_t begin = text.find(heading);
  if (begin == text.npos) fail("text", "{}: expected the line [{}], got none", name, part);
  text.remove_prefix(begin + heading.size());
  const std::size_t end = text.find("\n[");
  return end == text.npos ? text : text.substr(0, end + 1);
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::vector<std::string_view> lines_of_file(std::string_view name, std::string_view part) {
  return parts_of(text_of_file(name, part), '\n');
}

std::string filled(std::string_view text, const std::vector<Value>& values) {
  std::string out(text);
  for (const auto& [name, value] : values) {
    const std::string place = fmt::format("{{{}}}", name);
    for (std::size_t at = 0; (at = out.find(place, at)) != out.npos; at += value.size())
      out.replace(at, place.size(), value);
  }
  return out;
}

std::string essay(std::string_view file, const std::vector<Value>& values, std::string_view part) {
  const std::string_view language = code_of(language_of_locale());
  return filled(text_of_file(file, fmt::format("{}{}{}", part, part.empty() ? "" : ".", language)), values);
}

}  // namespace tapegrad::tasks
