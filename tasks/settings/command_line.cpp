// Makes options out of settings.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/tasks/settings/command_line.h>
#include <tapegrad/tasks/settings/nearest.h>
#include <tapegrad/tasks/settings/option_types.h>

#include <CLI/CLI.hpp>

namespace tapegrad::tasks {
namespace {

constexpr std::size_t kWidestType = 60;  // lines of --help are broken at spaces

// The name of a type as --help shows it, with the choices instead where there are some.
std::string type_of(const Setting& s, std::string_view by_member) {
  if (s.choices.empty()) return std::string(s.type.empty() ? by_member : s.type);
  const std::string type = fmt::format("{{{}}}", fmt::join(s.choices, ","));
  return type.size() > kWidestType ? fmt::format("{{{}}}", fmt::join(s.choices, ", ")) : type;
}

CLI::Option* add_option(CLI::App* app, const Setting& s, bool* flag) {
  return app->add_flag(s.option(), *flag, std::string(s.help));
}
CLI::Option* add_option(CLI::App* app, const Setting& s, const nn::Named& named) {
  const auto set = [s, named](const std::string& name) {
    if (!named.set(name)) bad_request(s.option(), must_be_one_of({s.choices.begin(), s.choices.end()}, name));
  };
  return app->add_option_function<std::string>(s.option(), set, std::string(s.help))->type_name(type_of(s, ""));
}
template <class T>
CLI::Option* add_option(CLI::App* app, const Setting& s, T* value) {
  return app->add_option(s.option(), *value, std::string(s.help))->type_name(type_of(s, type_name_of<T>()));
}

}  // namespace

void add_options(CLI::App* app, const Fields& fields, const std::string& shown_default) {
  for (const Field& field : fields) {
    const std::string text = shown_default.empty() ? field.default_text() : shown_default;
    CLI::Option* option =
        std::visit([&](const auto& value) { return add_option(app, field.setting, value); }, field.value);
    option->group(std::string(field.setting.group));
    if (!std::holds_alternative<bool*>(field.value)) option->default_str(text);
  }
}

Given given_on(const CLI::App* app, const Fields& fields) {
  Given given;
  for (const Field& field : fields) {
    const CLI::Option* option = app->get_option_no_throw(field.setting.option());
    if (option != nullptr && option->count() > 0) given.push_back(field.setting.option().substr(2));
  }
  return given;
}

}  // namespace tapegrad::tasks
