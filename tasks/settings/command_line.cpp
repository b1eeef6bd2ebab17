// Makes options out of settings.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/tasks/settings/command_line.h>
#include <tapegrad/tasks/settings/option_types.h>

#include <CLI/CLI.hpp>

namespace tapegrad::tasks {
namespace {

constexpr std::size_t kWidestType = 60;  // lines of --help are broken at spaces

std::string option_of(const Setting& setting) { return fmt::format("--{}", setting.name); }

template <class T>
void add_option(CLI::App* app, const Setting& s, T& value, const std::string& default_text) {
  const std::string help(s.help), group(name(s.group));
  if constexpr (std::is_same_v<T, bool>) {
    app->add_flag(option_of(s), value, help)->group(group);
  } else {
    std::string type = s.type.empty() ? type_name_of<T>() : std::string(s.type);
    if (!s.choices.empty()) type = fmt::format("{{{}}}", fmt::join(s.choices, ","));
    if (type.size() > kWidestType) type = fmt::format("{{{}}}", fmt::join(s.choices, ", "));
    app->add_option(option_of(s), value, help)->group(group)->type_name(type)->default_str(default_text);
  }
}

}  // namespace

void add_options(CLI::App* app, const Fields& fields, const std::string& shown_default) {
  for (const Field& field : fields) {
    const std::string text = shown_default.empty() ? field.default_text() : shown_default;
    std::visit([&](auto* value) { add_option(app, field.setting, *value, text); }, field.value);
  }
}

Given given_on(const CLI::App* app, const Fields& fields) {
  Given given;
  for (const Field& field : fields) {
    const CLI::Option* option = app->get_option_no_throw(option_of(field.setting));
    if (option != nullptr && option->count() > 0) given.emplace_back(field.setting.name);
  }
  return given;
}

}  // namespace tapegrad::tasks
