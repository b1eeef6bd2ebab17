// Writes the man page from the options that --help shows.
#include <fmt/format.h>
#include <tapegrad/command/help_style.h>
#include <tapegrad/command/tools.h>
#include <tapegrad/version.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {
namespace {

// Text as troff reads it: no line is a request, and dashes are those of the keyboard.
std::string troff(std::string_view text) {
  std::string out;
  bool line_starts = true;
  for (const char c : text) {
    if (line_starts && (c == '.' || c == '\'')) out += "\\&";
    line_starts = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

// Paragraphs that blank lines separate.
std::string paragraphs(std::string_view text) {
  std::string out = troff(text);
  for (std::size_t at = 0; (at = out.find("\n\n", at)) != std::string::npos;) out.replace(at, 2, "\n.PP\n");
  return out;
}

std::string option_names(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames()) names += fmt::format("{}-{}", names.empty() ? "" : ", ", name);
  for (const std::string& name : option.get_lnames()) names += fmt::format("{}--{}", names.empty() ? "" : ", ", name);
  return names;
}

std::string option_entry(const CLI::Option& option) {
  const bool takes_value = option.get_type_size() != 0;
  std::string head = option.get_positional() ? "" : fmt::format("\\fB{}\\fR", troff(option_names(option)));
  if (takes_value) head += fmt::format("{}\\fI{}\\fR", head.empty() ? "" : " ", troff(option.get_type_name()));
  std::string text = troff(option.get_description());
  if (const std::string value = option.get_default_str(); takes_value && !value.empty())
    text += fmt::format(" (default: {})", troff(value));
  return fmt::format(".TP\n{}\n{}\n", head, text);
}

// The description and the options of a verb or task, under a heading with its words.
std::string man_section(const CLI::App& app, const std::string& words) {
  std::string page = fmt::format(".SS {}\n{}.\n", troff(words), troff(app.get_description()));
  std::vector<std::string> groups;
  for (const CLI::Option* option : app.get_options()) {
    if (std::ranges::find(groups, option->get_group()) == groups.end()) groups.push_back(option->get_group());
  }
  for (const std::string& group : groups) {
    std::string entries;
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_group() == group && option->get_name() != "--help") entries += option_entry(*option);
    }
    if (!group.empty() && !entries.empty()) page += fmt::format(".PP\n{}:\n{}", troff(group), entries);
  }
  if (!app.get_footer().empty()) page += fmt::format(".PP\n{}\n", paragraphs(app.get_footer()));
  std::string examples;
  for (const std::string& call : examples_of(app)) examples += troff(call) + "\n";
  if (!examples.empty()) page += fmt::format(".PP\nExamples:\n.PP\n.EX\n{}.EE\n", examples);
  for (const CLI::App* part : parts_of(app)) page += man_section(*part, fmt::format("{} {}", words, part->get_name()));
  return page;
}

}  // namespace

std::string man_page(const CLI::App& top) {
  const std::string name = top.get_name();
  std::string page = fmt::format(
      ".TH TAPEGRAD 1 \"\" \"{0} {1}\" \"User Commands\"\n.SH NAME\n{0} \\- {2}\n.SH SYNOPSIS\n.B {0}\n"
      ".I verb\n.RI [ task ]\n.RI [ options ]\n.SH DESCRIPTION\n{3}.\n.PP\n{4}\n.SH VERBS\n",
      name, kVersion, "train, test and explain Transformers", troff(top.get_description()),
      paragraphs(top.get_footer()));
  for (const CLI::App* verb : parts_of(top)) page += man_section(*verb, fmt::format("{} {}", name, verb->get_name()));
  return page;
}

}  // namespace tapegrad::tasks
