// How --help lays out options, prints their defaults, and translates all of it.
#include <fmt/format.h>
#include <tapegrad/command/help_style.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/terminal.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <set>
#include <utility>

namespace tapegrad::tasks {
namespace {

// "0, which means no limit" and "50; 0: write the untrained model": a value, and what one value means.
constexpr std::string_view kMeans = ", which means ", kZero = "; 0: ";

struct Default {
  std::string value, joint, meaning;  // without a meaning, the joint is empty
};

Default default_of(const CLI::Option& option) {
  const std::string text = option.get_type_size() == 0 ? "" : option.get_default_str();
  for (const std::string_view joint : {kMeans, kZero}) {
    const std::size_t at = text.find(joint);
    if (at != std::string::npos) return {text.substr(0, at), std::string(joint), text.substr(at + joint.size())};
  }
  return {text, "", ""};
}

// "  name        description", whose lines are below one another; on the next line if the name is wider than `width`.
std::string table_line(const std::string& name, std::string_view description, std::size_t width) {
  std::string line = fmt::format("{:<{}}", "  " + name, width);
  if (description.empty()) return line + "\n";
  if (name.size() + 2 >= width) line += "\n" + std::string(width, ' ');
  for (const char c : description) line += c == '\n' ? "\n" + std::string(width, ' ') : std::string(1, c);
  return line + "\n";
}

class HelpStyle : public CLI::Formatter {
 public:
  HelpStyle(std::string_view part, std::span<const std::string_view> examples)
      : part_(part), examples_(examples.begin(), examples.end()) {
    column_width(32);
    label("Positionals", std::string(shown("Arguments")));
  }

  std::vector<std::string> examples(const CLI::App& app) const {
    std::string words;  // "tapegrad train copy "
    for (const CLI::App* one = &app; one != nullptr; one = one->get_parent()) words = one->get_name() + " " + words;
    std::vector<std::string> found;
    for (const std::string_view example : examples_)
      if (const std::string call = fmt::format("tapegrad {}", example); (call + " ").starts_with(words))
        found.push_back(call);
    return found;
  }

 private:
  static std::string heading(std::string_view text) { return drawing::painted(text, drawing::Paint::heading, stdout); }
  std::string make_description(const CLI::App* app) const override {
    return std::string(shown(app->get_description())) + "\n";
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string arguments;
    for (const CLI::Option* option : app->get_options([](const CLI::Option* o) { return o->get_positional(); }))
      arguments += fmt::format(" [{}]", option->get_type_name());
    return fmt::format("\n{}: {}{}{} [{}]\n\n", heading(shown("Usage")), name,
                       parts_of(*app).empty() ? "" : fmt::format(" <{}>", shown(part_)), arguments, shown("options"));
  }
  std::string make_group(std::string group, bool positional, std::vector<const CLI::Option*> options) const override {
    const std::string name = heading(positional ? group : shown(group));
    const std::string lines = CLI::Formatter::make_group(name, positional, std::move(options)).substr(1);
    return positional ? lines + "\n" : lines;  // one blank line between groups
  }
  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override {
    const std::string text = CLI::Formatter::make_subcommands(app, mode);  // "\nTasks:\n  copy ...", group by group
    std::string out;
    for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
      end = std::min(text.find('\n', at), text.size());
      const std::string_view line = std::string_view(text).substr(at, end - at);
      const bool is_heading = line.ends_with(':') && !line.starts_with(' ');
      out += is_heading ? heading(shown(line.substr(0, line.size() - 1))) + ":\n" : std::string(line) + "\n";
    }
    return out;
  }
  std::string make_subcommand(const CLI::App* sub) const override {
    return table_line(sub->get_display_name(true), shown(sub->get_description()), column_width_);
  }
  std::string make_footer(const CLI::App* app) const override {
    const std::string footer = app->get_footer();
    std::string text = footer.empty() ? "" : std::string(shown(footer)) + "\n";
    const std::vector<std::string> calls = examples(*app);
    if (!calls.empty()) text += fmt::format("{}{}:\n", footer.empty() ? "" : "\n", heading(shown("Examples")));
    for (const std::string& call : calls) text += fmt::format("  {}\n", call);
    return text;
  }
  std::string make_option(const CLI::Option* option, bool positional) const override {
    return table_line(make_option_name(option, positional) + make_option_opts(option), make_option_desc(option),
                      column_width_);
  }
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    return positional ? option->get_type_name() : CLI::Formatter::make_option_name(option, positional);
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_size() == 0 || option->get_positional() ? "" : " " + option->get_type_name();
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    const auto [value, joint, meaning] = default_of(*option);
    const std::string text = said_help(option->get_description());
    if (value.empty()) return text;
    return fmt::format("{} ({}: {}{}{})", text, shown("default"), shown(value), shown(joint), shown(meaning));
  }

  std::string part_;
  std::vector<std::string_view> examples_;
};

void collect(const CLI::App& app, std::set<std::string>& texts) {
  texts.insert({app.get_description(), app.get_group(), app.get_footer()});
  for (const CLI::Option* option : app.get_options()) {
    const auto [value, joint, meaning] = default_of(*option);
    for (const std::string_view part : parts_of_help(option->get_description())) texts.emplace(part);
    texts.insert({option->get_group(), joint, meaning});
    if (value.find(' ') != std::string::npos) texts.insert(value);  // words, as "the last run's"
  }
  for (const CLI::App* part : parts_of(app)) collect(*part, texts);
}

}  // namespace

void set_help_style(CLI::App& app, std::string_view part, std::span<const std::string_view> examples) {
  app.formatter(std::make_shared<HelpStyle>(part, examples));
}

std::vector<const CLI::App*> parts_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> examples_of(const CLI::App& app) {
  const auto* const style = dynamic_cast<const HelpStyle*>(app.get_formatter().get());
  return style == nullptr ? std::vector<std::string>() : style->examples(app);
}

std::vector<std::string> texts_of_help(const CLI::App& app) {
  std::set<std::string> texts;
  collect(app, texts);
  texts.erase("");
  return {texts.begin(), texts.end()};
}

}  // namespace tapegrad::tasks
