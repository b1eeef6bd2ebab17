// How --help lays out options, and prints their defaults.
#include <fmt/format.h>
#include <tapegrad/tasks/settings/command_line.h>

#include <CLI/CLI.hpp>
#include <memory>

namespace tapegrad::tasks {
namespace {

class HelpStyle : public CLI::Formatter {
 public:
  explicit HelpStyle(std::string_view part) : part_(part) {
    column_width(32);
    label("Positionals", "Arguments");
  }

 private:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    const bool parts = !app->get_subcommands([](const CLI::App*) { return true; }).empty();
    std::string arguments;
    for (const CLI::Option* option : app->get_options([](const CLI::Option* o) { return o->get_positional(); }))
      arguments += fmt::format(" [{}]", option->get_type_name());
    return fmt::format("\nUsage: {}{}{} [options]\n\n", name, parts ? fmt::format(" <{}>", part_) : "", arguments);
  }
  std::string make_group(std::string group, bool positional, std::vector<const CLI::Option*> options) const override {
    const std::string lines = CLI::Formatter::make_group(std::move(group), positional, std::move(options)).substr(1);
    return positional ? lines + "\n" : lines;  // one blank line between groups
  }
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    return positional ? option->get_type_name() : CLI::Formatter::make_option_name(option, positional);
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_size() == 0 || option->get_positional() ? "" : " " + option->get_type_name();
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    const std::string value = option->get_type_size() == 0 ? "" : option->get_default_str();
    return option->get_description() + (value.empty() ? "" : fmt::format(" (default: {})", value));
  }

  std::string part_;
};

}  // namespace

void set_help_style(CLI::App& app, std::string_view part) { app.formatter(std::make_shared<HelpStyle>(part)); }

}  // namespace tapegrad::tasks
