// Reads numbers and names before CLI11 converts them, and prints defaults in words.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/settings/nearest.h>
#include <tapegrad/tasks/settings/option_types.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>

namespace tapegrad::tasks {
namespace {

// `text` as a whole number without leading zeros, since CLI11 takes 010 for an octal number.
template <class T>
std::string whole_number(const std::string& option, const std::string& text) {
  std::string_view digits = text;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
    bad_request(option, fmt::format("expected a whole number, got \"{}\"", text));
  if (negative && std::is_unsigned_v<T>) bad_request(option, fmt::format("must not be negative, got {}", text));
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size() - 1));
  const std::string number = (negative ? "-" : "") + std::string(digits);
  T value = 0;
  if (std::from_chars(number.data(), number.data() + number.size(), value).ec != std::errc())
    bad_request(option, fmt::format("must fit into 64 bits, got {}", text));
  return number;
}

std::string decimal_number(const std::string& option, const std::string& text) {
  const char *const first = text.data() + (text.starts_with('+') ? 1 : 0), *const last = text.data() + text.size();
  double value = 0;
  const auto [end, error] = std::from_chars(first, last, value);
  if (error == std::errc::result_out_of_range) bad_request(option, fmt::format("must fit into a double, got {}", text));
  if (error != std::errc() || end != last) bad_request(option, fmt::format("expected a number, got \"{}\"", text));
  return {first, last};
}

std::string read_value(const std::string& option, std::string_view type, const std::string& text) {
  if (type == "SEED") return whole_number<uint64_t>(option, text);
  if (type == "N" || type == "K" || type == "B") return whole_number<int64_t>(option, text);
  if (type == "X" || type == "T" || type == "P") return decimal_number(option, text);
  if (text.empty() && (type.starts_with("FILE") || type == "DIR"))
    bad_request(option, "expected a name, got an empty text (leave the option out for the default)");
  return text;
}

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

void read_values_by_type(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    option->transform([name = option->get_name(), type = option->get_type_name()](const std::string& text) {
      return read_value(name, type, text);
    });
  }
  for (CLI::App* part : app.get_subcommands({})) read_values_by_type(*part);
}

CLI::Option* choose_from(CLI::Option* option, const std::vector<std::string>& words) {
  return option->type_name(fmt::format("{{{}}}", fmt::join(words, ",")))
      ->check([name = option->get_name(), words](const std::string& text) {
        if (std::find(words.begin(), words.end(), text) == words.end()) bad_request(name, must_be_one_of(words, text));
        return std::string();
      });
}

void set_help_style(CLI::App& app, std::string_view part) { app.formatter(std::make_shared<HelpStyle>(part)); }

}  // namespace tapegrad::tasks
