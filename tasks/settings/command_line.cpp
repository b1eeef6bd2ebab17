// Makes options out of settings. Numbers are read before CLI11 converts them: it reads 010 as 8, a number beyond 64
// bits as the nearest that fits, and an empty text as 0.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/tasks/settings/command_line.h>
#include <tapegrad/tasks/settings/nearest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <optional>

namespace tapegrad::tasks {
namespace {

constexpr std::size_t kWidestType = 60;  // lines of --help are broken at spaces

// --- values ---

// `text` as a whole number without leading zeros, since CLI11 takes 010 for an octal number.
template <class T>
std::string whole_number(const std::string& option, const std::string& text) {
  std::string_view digits = text;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
    bad_request(option, "expected a whole number, got \"{}\"", text);
  if (negative && std::is_unsigned_v<T>) bad_request(option, "expected a number >= 0, got {}", text);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size() - 1));
  const std::string number = (negative ? "-" : "") + std::string(digits);
  T value = 0;
  if (std::from_chars(number.data(), number.data() + number.size(), value).ec != std::errc())
    bad_request(option, "expected a number of 64 bits, got {}", text);
  return number;
}

std::string decimal_number(const std::string& option, const std::string& text) {
  const char *const first = text.data() + (text.starts_with('+') ? 1 : 0), *const last = text.data() + text.size();
  double value = 0;
  const auto [end, error] = std::from_chars(first, last, value);
  if (error == std::errc::result_out_of_range)
    bad_request(option, "expected a number in the range of float64, got {}", text);
  if (error != std::errc() || end != last) bad_request(option, "expected a number, got \"{}\"", text);
  return {first, last};
}

std::string file_name(const std::string& option, std::string_view type, const std::string& text) {
  if (text.empty() && (type.starts_with("FILE") || type == "DIR"))
    bad_request(option, "expected a name, got an empty text (leave the option out for the default)");
  return text;
}

void check_choice(const Setting& s, const std::string& text) {
  if (s.choices.empty() || std::ranges::find(s.choices, text) != s.choices.end()) return;
  bad_request(s.option(), expected_one_of({s.choices.begin(), s.choices.end()}, text));
}

// --- one option for each type of member ---

// Adds the option of a setting to `app`.
struct AddOption {
  CLI::App* app;
  const Setting& s;

  // What --help calls the value, with the choices instead where there are some.
  std::string type(std::string_view by_member) const {
    if (s.choices.empty()) return std::string(s.type.empty() ? by_member : s.type);
    const std::string type = fmt::format("{{{}}}", fmt::join(s.choices, ","));
    return type.size() > kWidestType ? fmt::format("{{{}}}", fmt::join(s.choices, ", ")) : type;
  }
  // `read` checks a value, and returns what CLI11 converts.
  template <class T, class Read>
  CLI::Option* add(T& value, const char* by_member, Read read) const {
    return app->add_option(s.option(), value, std::string(s.help))
        ->type_name(type(by_member))
        ->transform([option = s.option(), read](const std::string& text) { return read(option, text); });
  }

  CLI::Option* operator()(bool* flag) const { return app->add_flag(s.option(), *flag, std::string(s.help)); }
  CLI::Option* operator()(int64_t* n) const { return add(*n, "N", whole_number<int64_t>); }
  CLI::Option* operator()(std::optional<int64_t>* n) const { return add(*n, "N", whole_number<int64_t>); }
  CLI::Option* operator()(uint64_t* n) const { return add(*n, "SEED", whole_number<uint64_t>); }
  CLI::Option* operator()(std::optional<uint64_t>* n) const { return add(*n, "SEED", whole_number<uint64_t>); }
  CLI::Option* operator()(double* x) const { return add(*x, "X", decimal_number); }
  CLI::Option* operator()(std::optional<double>* x) const { return add(*x, "X", decimal_number); }
  template <class T>
  requires std::is_same_v<T, std::string> || std::is_same_v<T, std::optional<std::string>> CLI::Option* operator()(
      T* text) const {
    return add(*text, "NAME", [s = s](const std::string& option, const std::string& value) {
      check_choice(s, value);
      return file_name(option, s.type, value);
    });
  }
  CLI::Option* operator()(std::vector<std::string>* texts) const {
    return add(*texts, "PATTERN", [](const std::string&, const std::string& text) { return text; });
  }
  CLI::Option* operator()(const nn::Named& named) const {
    const auto set = [s = s, named](const std::string& name) {
      check_choice(s, name);
      named.set(name);
    };
    return app->add_option_function<std::string>(s.option(), set, std::string(s.help))->type_name(type("NAME"));
  }
};

}  // namespace

void add_options(CLI::App* app, const Fields& fields) {
  for (const Field& field : fields) {
    CLI::Option* option = std::visit(AddOption{app, field.setting}, field.value);
    if (!field.setting.group.empty()) option->group(std::string(field.setting.group));
    if (!std::holds_alternative<bool*>(field.value)) option->default_str(field.default_text());
  }
}

Given given_on(const CLI::App* app, const Fields& fields) {
  Given given;
  for (const Field& field : fields) {
    const std::string name = field.setting.option();
    const CLI::Option* option = app->get_option_no_throw(name);
    if (option != nullptr && option->count() > 0) given.push_back(name.substr(name.find_first_not_of('-')));
  }
  return given;
}

void on_parsed(CLI::App* app, std::function<void()> act) { app->callback(std::move(act)); }

}  // namespace tapegrad::tasks
