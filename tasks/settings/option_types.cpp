// Refuses what CLI11 would take for something else.
#include <fmt/format.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/settings/option_types.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

namespace tapegrad::tasks {
namespace {

// Is `text` a whole number that T is too small for?
template <class T>
bool too_large(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value = 0;
  return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc::result_out_of_range;
}

constexpr std::string_view kNames[] = {"FILE", "DIR", "FILE_OR_DIR"};
constexpr std::string_view kNumbers[] = {"N", "SEED", "X", "T", "K", "P", "B"};

std::string check_value(const std::string& option, std::string_view type, const std::string& text) {
  const bool seed = type == "SEED";
  if ((seed || type == "N") && (seed ? too_large<uint64_t>(text) : too_large<int64_t>(text)))
    bad_request(option, fmt::format("{} is out of range: it does not fit into 64 bits", text));
  if (seed && text.starts_with('-'))
    bad_request(option, fmt::format("{} is out of range: a seed is not negative", text));
  if (text.empty() && std::ranges::count(kNames, type) > 0)
    bad_request(option, "is empty: a name is needed (leave it out for the default)");
  if (text.empty() && std::ranges::count(kNumbers, type) > 0) bad_request(option, "is empty: a number is needed");
  return "";
}

}  // namespace

void check_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    option->check([name = option->get_name(), type = option->get_type_name()](const std::string& text) {
      return check_value(name, type, text);
    });
  }
  for (CLI::App* part : app.get_subcommands({})) check_values(*part);
}

}  // namespace tapegrad::tasks
