// Lines of the programs of the tutorials, which cmake/embed.cmake writes into a source file.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tapegrad::tasks::tutorial {

/// A text in the command.
struct Snippet {
  std::string_view name, text;  ///< named by its file: "003_words_and_masks:similarity"
  std::string_view program;     ///< the program that it is a part of, or whose header contains it
};
/// All snippets of tutorials/programs, as they are in the files.
std::span<const Snippet> snippets();

/// The lines of a snippet, without the indentation that all have, and without markers of other snippets. Error for an
/// unknown name.
std::string snippet(std::string_view name);
/// The program of a snippet: "003_words_and_masks". Error for an unknown name.
std::string_view program_of(std::string_view name);

}  // namespace tapegrad::tasks::tutorial
