// Writes the scripts that complete the command line in bash, zsh and fish, from the options that --help shows.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/command/help_style.h>
#include <tapegrad/command/tools.h>
#include <tapegrad/tasks/language/texts.h>

#include <CLI/CLI.hpp>
#include <utility>

namespace tapegrad::tasks {
namespace {

struct CompletedOption {
  std::string name, help;  // "--lr"
  bool takes_value;
  bool file, folder;                 // its value is the name of one
  std::vector<std::string> choices;  // of its value, if it has some
};

// A verb or task: the words that name it without the command, what may follow them.
struct CompletedPart {
  std::string path;  // "train copy"; empty for the command itself
  std::vector<std::pair<std::string, std::string>> parts;
  std::vector<CompletedOption> options;
};

std::vector<std::string> choices_in(std::string_view type) {  // "{adam,sgd}"
  std::vector<std::string> choices;
  if (!type.starts_with('{') || !type.ends_with('}')) return choices;
  std::string word;
  for (const char c : type.substr(1)) {
    if (c == ',' || c == '}') {
      choices.push_back(std::exchange(word, {}));
    } else if (c != ' ') {
      word += c;
    }
  }
  return choices;
}

void collect(const CLI::App& app, const std::string& path, std::vector<CompletedPart>& into) {
  CompletedPart part{path, {}, {}};
  for (const CLI::App* one : parts_of(app)) part.parts.emplace_back(one->get_name(), one->get_description());
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() || option->get_lnames().empty()) continue;
    const std::string type = option->get_type_name();
    part.options.push_back({"--" + option->get_lnames().front(), option->get_description(),
                            option->get_type_size() != 0, type.starts_with("FILE"), type == "DIR", choices_in(type)});
  }
  into.push_back(std::move(part));
  for (const CLI::App* one : parts_of(app))
    collect(*one, path.empty() ? one->get_name() : path + " " + one->get_name(), into);
}

std::string paths_of(const std::vector<CompletedPart>& parts, std::string_view between) {
  std::vector<std::string> paths;
  for (const CompletedPart& part : parts)
    if (!part.path.empty()) paths.push_back(fmt::format("'{}'", part.path));
  return fmt::format("{}", fmt::join(paths, between));
}

std::string words_in(const CompletedPart& part) {
  std::string words;
  for (const auto& [name, help] : part.parts) words += name + " ";
  for (const CompletedOption& option : part.options) words += option.name + " ";
  return words;
}

// The values of options as cases of "$path $prev", whatever the shell: `file`, `folder` and `words` are its commands.
std::string value_cases(const std::vector<CompletedPart>& parts, std::string_view file, std::string_view folder,
                        std::string_view words) {
  std::string cases;
  for (const CompletedPart& part : parts) {
    for (const CompletedOption& option : part.options) {
      if (!option.takes_value) continue;
      std::string act = ":";
      if (option.file) act = file;
      if (option.folder) act = folder;
      if (!option.choices.empty()) act = fmt::format(fmt::runtime(words), fmt::join(option.choices, " "));
      cases += fmt::format("    '{} {}') {}; return;;\n", part.path, option.name, act);
    }
  }
  return cases;
}

std::string bash_script(const std::vector<CompletedPart>& parts) {
  std::string words;
  for (const CompletedPart& part : parts)
    words +=
        fmt::format("    '{}') mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$cur\");;\n", part.path, words_in(part));
  const std::string values = value_cases(parts, "mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")",
                                         "mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")",
                                         "mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$cur\")");
  return filled(text_of_file("command/completion/bash.txt"),
                {{"paths", paths_of(parts, "|")}, {"values", values}, {"words", words}});
}

// A text between single quotes.
std::string shell_quoted(std::string_view text, std::string_view quote) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string(quote) : std::string(1, c);
  return out + "'";
}

// "name:help" of _describe.
std::string zsh_entry(const std::string& name, std::string_view help) {
  return " " + shell_quoted(fmt::format("{}:{}", name, help), R"('\'')");
}

std::string zsh_script(const std::vector<CompletedPart>& parts) {
  std::string words;
  for (const CompletedPart& part : parts) {
    words += fmt::format("    '{}') entries=(", part.path);
    for (const auto& [name, help] : part.parts) words += zsh_entry(name, help);
    for (const CompletedOption& option : part.options) words += zsh_entry(option.name, option.help);
    words += ");;\n";
  }
  return filled(text_of_file("command/completion/zsh.txt"),
                {{"paths", paths_of(parts, "|")},
                 {"values", value_cases(parts, "_files", "_files -/", "compadd -- {}")},
                 {"words", words}});
}

std::string fish_script(const std::vector<CompletedPart>& parts) {
  std::string completions;
  for (const CompletedPart& part : parts) {
    const std::string at = fmt::format("complete -c tapegrad -n \"__tapegrad_at '{}'\"", part.path);
    for (const auto& [name, help] : part.parts)
      completions += fmt::format("\n{} -a {} -d {}", at, name, shell_quoted(help, "\\'"));
    for (const CompletedOption& option : part.options) {
      completions += fmt::format("\n{} -l {} -d {}", at, option.name.substr(2), shell_quoted(option.help, "\\'"));
      if (option.takes_value) completions += option.file || option.folder ? " -r -F" : " -x";
      if (!option.choices.empty()) completions += fmt::format(" -a '{}'", fmt::join(option.choices, " "));
    }
  }
  return filled(text_of_file("command/completion/fish.txt"),
                {{"paths", paths_of(parts, " ")}, {"completions", completions}});
}

}  // namespace

const std::vector<std::string_view>& completion_shells() {
  static const std::vector<std::string_view> shells = {"bash", "zsh", "fish"};
  return shells;
}

std::string completion_script(const CLI::App& top, std::string_view shell) {
  std::vector<CompletedPart> parts;
  collect(top, "", parts);
  if (shell == "bash") return bash_script(parts);
  if (shell == "zsh") return zsh_script(parts);
  if (shell == "fish") return fish_script(parts);
  throw Error(fmt::format("[completion] expected bash, zsh or fish, got \"{}\"", shell));
}

}  // namespace tapegrad::tasks
