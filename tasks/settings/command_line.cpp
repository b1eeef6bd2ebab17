// Makes options out of settings.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/tasks/settings/command_line.h>
#include <tapegrad/tasks/settings/option_types.h>

#include <CLI/CLI.hpp>

namespace tapegrad::tasks {
namespace {

std::string option_of(const Setting& setting) { return fmt::format("--{}", setting.name); }

template <class T>
void add_option(CLI::App* app, const Setting& s, T& value, const std::string& shown_default) {
  const std::string help(s.help), group(name(s.group));
  if constexpr (std::is_same_v<T, bool>) {
    app->add_flag(option_of(s), value, help)->group(group);
  } else {
    std::string type = s.type.empty() ? type_name_of<T>() : std::string(s.type);
    if (!s.choices.empty()) type = fmt::format("{{{}}}", fmt::join(s.choices, ","));
    CLI::Option* option = app->add_option(option_of(s), value, help)->group(group)->type_name(type);
    if (!shown_default.empty()) {
      option->default_str(shown_default);
    } else {
      option->capture_default_str();
    }
  }
}

}  // namespace

void add_options(CLI::App* app, const Fields& fields, const std::string& shown_default) {
  for (const Field& field : fields)
    std::visit([&](auto* value) { add_option(app, field.setting, *value, shown_default); }, field.value);
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
