// Checks, compares and overrides settings, and carries them to and from JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/tasks/settings/nearest.h>
#include <tapegrad/tasks/settings/settings.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace tapegrad::tasks {
namespace {

constexpr int64_t kVersion = 2;  // of the JSON; 1, of files without "version", had fewer settings

std::string dashed(const Setting& setting) { return fmt::format("--{}", setting.name); }

std::string key_of(const Setting& setting) {
  std::string key(setting.name);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

// "must be between 1 and 10"
std::string wording(const Limits& l) {
  const bool least = std::isfinite(l.least), most = std::isfinite(l.most);
  if (least && !most) {
    if (!l.open_below) return fmt::format("must be at least {}", l.least);
    return l.least == 0 ? "must be positive" : fmt::format("must be greater than {}", l.least);
  }
  if (!least && !most) return "must be a finite number";
  if (!l.open_below && !l.open_above) return fmt::format("must be between {:.0f} and {:.0f}", l.least, l.most);
  return fmt::format("must be {} {} and {} {}", l.open_below ? "greater than" : "at least", l.least,
                     l.open_above ? "less than" : "at most", l.most);
}

bool within(double value, const Limits& l) {
  return std::isfinite(value) && (l.open_below ? value > l.least : value >= l.least) &&
         (l.open_above ? value < l.most : value <= l.most);
}

void check_limits(const Field& field) {
  const Setting& s = field.setting;
  if (const auto* number = std::get_if<int64_t*>(&field.value))
    tasks::check_limits(dashed(s), static_cast<double>(**number), s.limits);
  if (const auto* number = std::get_if<double*>(&field.value)) tasks::check_limits(dashed(s), **number, s.limits);
  if (s.choices.empty()) return;
  const std::string text = field.text();
  require(std::find(s.choices.begin(), s.choices.end(), text) != s.choices.end(), dashed(s),
          must_be_one_of({s.choices.begin(), s.choices.end()}, text));
}

// Of JSON that json::text_of() wrote; nothing for other JSON.
std::optional<std::string> string_of(const nlohmann::json& json) {
  if (json.is_string()) return json.get<std::string>();
  const auto bytes = json.is_object() ? json.find("bytes") : json.end();
  if (!json.is_object() || bytes == json.end() || !bytes->is_array()) return {};
  std::string text;
  for (const nlohmann::json& byte : *bytes) {
    if (!byte.is_number_unsigned() || byte.get<uint64_t>() > 255) return {};
    text += static_cast<char>(byte.get<uint64_t>());
  }
  return text;
}

[[noreturn]] void refuse_setting(std::string_view where, std::string_view key, const nlohmann::json& json) {
  fail(where, fmt::format("the settings cannot be read: {} is {}", key, json::shown(json)));
}

std::string text_setting(std::string_view where, std::string_view key, const nlohmann::json& json) {
  const std::optional<std::string> text = string_of(json);
  if (!text) refuse_setting(where, key, json);
  return *text;
}

void read_value(std::string_view where, const nlohmann::json& json, const Field& field) {
  std::visit(
      [&](auto* value) {
        using T = std::remove_pointer_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::string>) {
          *value = text_setting(where, key_of(field.setting), json);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          if (!json.is_array()) refuse_setting(where, key_of(field.setting), json);
          value->clear();
          for (const nlohmann::json& element : json)
            value->push_back(text_setting(where, key_of(field.setting), element));
        } else {
          const bool same_kind = std::is_same_v<T, bool>     ? json.is_boolean()
                                 : std::is_same_v<T, double> ? json.is_number()
                                                             : json.is_number_integer();
          if (!same_kind) refuse_setting(where, key_of(field.setting), json);
          *value = json.get<T>();
        }
      },
      field.value);
}

}  // namespace

std::string_view name(Group group) {
  switch (group) {
    case Group::model: return "Model";
    case Group::positions: return "Positions";
    case Group::data: return "Data";
    case Group::start: return "Fine-tuning";
    case Group::training: return "Training";
    case Group::rate: return "Learning rate";
    default: return "Run";
  }
}

std::string Field::text() const {
  return std::visit(
      [](const auto* value) {
        using T = std::remove_const_t<std::remove_pointer_t<decltype(value)>>;
        if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          return fmt::format("{}", fmt::join(*value, " "));
        } else {
          return fmt::format("{}", *value);
        }
      },
      value);
}

std::string Field::default_text() const {
  const std::string value = text();
  if (setting.special.empty()) return value;
  if (!setting.special.starts_with(value + ": ")) return fmt::format("{}; {}", value, setting.special);
  return fmt::format("{}, which means {}", value, setting.special.substr(value.size() + 2));
}

std::string Field::report_text() const {
  return setting.special.empty() ? std::string(setting.help) : fmt::format("{} ({})", setting.help, setting.special);
}

const Field* Fields::find(std::string_view name) const {
  for (const Field& field : fields_)
    if (field.setting.name == name) return &field;
  return nullptr;
}

void check_limits(std::string_view option, double value, const Limits& limits) {
  require(within(value, limits), option, fmt::format("{}, got {}", wording(limits), value));
}

void check_limits(const Fields& fields) {
  for (const Field& field : fields) check_limits(field);
}

bool contains(const Given& given, std::string_view name) {
  return std::find(given.begin(), given.end(), name) != given.end();
}

void override_with(const Fields& fields, const Fields& asked, const Given& given) {
  for (const std::string& name : given) {
    const Field *to = fields.find(name), *from = asked.find(name);
    if (to == nullptr || from == nullptr) continue;
    std::visit([&](auto* value) { *value = *std::get<decltype(value)>(from->value); }, to->value);
  }
}

void require_same(const Fields& run, const Fields& asked, const Given& given, std::string_view out) {
  std::vector<std::string> differences;
  for (const std::string& name : given) {
    const Field *ours = run.find(name), *theirs = asked.find(name);
    if (ours == nullptr || theirs == nullptr || ours->text() == theirs->text()) continue;
    differences.push_back(fmt::format("--{} {} (not {})", name, ours->text(), theirs->text()));
  }
  require(differences.empty(), "train --resume",
          fmt::format("the run in {} was started with {} (omit these options, or start again without --resume)", out,
                      fmt::join(differences, ", ")));
}

std::string to_json(std::string_view task, const Fields& fields) {
  nlohmann::ordered_json json{{"task", task}, {"version", kVersion}};
  for (const Field& field : fields)
    std::visit([&](const auto* value) { json[key_of(field.setting)] = *value; }, field.value);
  return json::text_of(json);
}

void from_json(std::string_view where, std::string_view text, std::string_view task, const Fields& fields) {
  const nlohmann::json json =
      json::parse(text, [&](const std::string& why) { fail(where, fmt::format("the settings {}", why)); });
  if (!json.is_object()) fail(where, fmt::format("the settings cannot be read: they are {}", json::shown(json)));
  const auto member = [&](const char* key, const nlohmann::json& otherwise) {
    const auto found = json.find(key);
    return found == json.end() ? otherwise : *found;
  };
  const std::string found = text_setting(where, "task", member("task", nullptr));
  if (found != task) fail(where, fmt::format("expected the settings of the task {}, got those of {}", task, found));
  const nlohmann::json version = member("version", 1);
  if (!version.is_number_integer()) refuse_setting(where, "version", version);
  if (version > kVersion) {
    fail(where, fmt::format("expected settings of version {} or older, got version {} (written by a newer tapegrad)",
                            kVersion, version.dump()));
  }
  for (const Field& field : fields) {
    const auto entry = json.find(key_of(field.setting));
    if (entry != json.end()) read_value(where, *entry, field);
  }
}

std::string task_of_json(std::string_view where, std::string_view text) {
  const nlohmann::json json =
      json::parse(text, [&](const std::string& why) { fail(where, fmt::format("the JSON of the settings {}", why)); });
  if (!json.is_object()) return "";
  const auto task = json.find("task");
  return task != json.end() && task->is_string() ? task->get<std::string>() : "";
}

uint64_t memory_bytes() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void require_memory(std::string_view where, std::string_view what, double bytes) {
  const auto memory = static_cast<double>(memory_bytes());
  require(bytes <= memory, where,
          fmt::format("{} takes about {:.1f} GB, this machine has {:.1f} GB", what, bytes * 1e-9, memory * 1e-9));
}

}  // namespace tapegrad::tasks
