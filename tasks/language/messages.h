// The Korean of what the command says. English is the key; errors stay English, which is what people search for.
#pragma once

#include <fmt/core.h>
#include <tapegrad/tasks/language/language.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

/// The catalogue ko.po, which cmake/messages.cmake writes into a source file.
std::span<const Text> all_messages();

/// The text in this language; as it is where there is no message for it.
std::string_view in_language(std::string_view english, Language language);
/// The text in the language of the environment.
std::string_view shown(std::string_view english);

/// The same as a string. Its argument is a literal where possible: a test demands Korean for each literal in a call.
std::string said(std::string_view english);
/// fmt::format of the text in the language of the environment. The Korean has the same replacement fields; where their
/// order differs, they are numbered.
template <class First, class... Rest>
std::string said(fmt::format_string<First, Rest...> english, First&& first, Rest&&... rest) {
  const fmt::string_view key = english;
  return fmt::vformat(shown({key.data(), key.size()}), fmt::make_format_args(first, rest...));
}
/// What has a message of its own in a text of help: the text, or, if none is for it as a whole and it is "what; name:
/// help; name: help", its parts "what", "help" and "help", which come from the rows of a table.
std::vector<std::string_view> parts_of_help(std::string_view english);
/// The text of help in the language of the environment, as a whole or by parts.
std::string said_help(std::string_view english);
/// Marks a literal that reaches said() through a table: it needs Korean, too.
constexpr std::string_view translatable(std::string_view english) { return english; }

}  // namespace tapegrad::tasks
