// Lines of programs and scripts that the build embeds: cmake/embed.cmake writes them into a source file.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tapegrad::tasks::tutorial {

/// A text in the command, with its name: "003_words_and_masks:similarity" of a program, "softmax" of a script.
struct Embedded {
  std::string_view name, text;
  std::string_view program;  ///< of a snippet: the program that it is a part of, or whose header has it
};
/// All snippets of tutorials/programs, as they are in the files.
std::span<const Embedded> snippets();
/// The scripts tasks/widgets/*.js.
std::span<const Embedded> scripts();

/// The lines of a snippet, without the indentation that all have, and without markers of other snippets. Error for an
/// unknown name.
std::string snippet(std::string_view name);
/// The program of a snippet: "003_words_and_masks". Error for an unknown name.
std::string_view program_of(std::string_view name);
/// The script of a widget. Error for an unknown name.
std::string_view script(std::string_view name);

}  // namespace tapegrad::tasks::tutorial
