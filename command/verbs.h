// The `tapegrad` command: from its arguments to its exit code; and its verbs, their names, what they are about, and
// their options.
#pragma once

#include <tapegrad/command/verb/parsed.h>

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

/// 0 success; 1 the run failed or missed its target; 2 invalid arguments. Errors are one line on standard error.
int command_main(int argc, const char* const* argv);
/// What --help of all verbs says in words: the keys of its messages in other languages.
std::vector<std::string> help_texts();

/// What is special about a verb.
enum Trait : unsigned {
  kPlain = 0,
  kDistributed = 1,  // the processes that a launcher starts work together; otherwise each works for itself
  kNoStatus = 2,     // no line says after two seconds that it is at work: it prints its own, converses, or ends at once
  kOwnLanguage = 4,  // --lang is an option of its own: its texts are in two languages
};

/// One verb of the command.
struct Verb {
  const char *name, *summary;
  void (*add)(CLI::App*, Parsed&);    // its arguments, options and subcommands
  std::string_view group;             // the heading above it in the help
  std::string_view example, another;  // calls that end its help: what follows "tapegrad "
  unsigned traits = kPlain;
  std::string_view parts = "task";  // what its subcommands are called
  std::array<std::string_view, 2> examples() const { return {example, another}; }
  /// Whether it has this trait.
  bool has(Trait trait) const { return (traits & trait) != 0; }
};

/// All of them, in the order of the help.
std::span<const Verb> verbs();
/// Makes "tutorial 8.2.5" of "show 8.2.5" and "new ./plot" of "new plot": the words of a command line, beginning with
/// the verb.
void resolve_verb(std::vector<std::string>& words);
/// nullptr if no verb has this name.
const Verb* verb_named(std::string_view name);

}  // namespace tapegrad::tasks
