// Reads the settings that the command wrote as JSON.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/train/internal/settings_json.h>

#include <optional>
#include <utility>

namespace tapegrad::train {
namespace {

[[noreturn]] void reject_setting(std::string_view where, std::string_view key, const Json& json) {
  fail(where, "the settings cannot be read: {} is {}", key, json::shown(json));
}

// Of JSON that json::text_of() wrote: a string, or bytes.
std::string text_setting(std::string_view where, std::string_view key, const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  const Json& bytes = json["bytes"];
  if (!bytes.is_array()) reject_setting(where, key, json);
  std::string text;
  for (const Json& byte : bytes) {
    if (!byte.is_number_unsigned() || byte.get<uint64_t>() > 255) reject_setting(where, key, json);
    text += static_cast<char>(byte.get<uint64_t>());
  }
  return text;
}

void read_number(std::string_view where, const Json& json, std::string_view key, auto& number) {
  using T = std::decay_t<decltype(number)>;
  const bool same_kind = std::is_same_v<T, bool>     ? json.is_boolean()
                         : std::is_same_v<T, double> ? json.is_number()
                                                     : json.is_number_integer();
  if (!same_kind) reject_setting(where, key, json);
  number = json.get<T>();
}

// Reads the value of a member.
struct ReadValue {
  std::string_view where;
  const Json& json;
  std::string key;

  void operator()(std::string* text) const { *text = text_setting(where, key, json); }
  void operator()(std::vector<std::string>* texts) const {
    if (!json.is_array()) reject_setting(where, key, json);
    texts->clear();
    for (const Json& element : json) texts->push_back(text_setting(where, key, element));
  }
  void operator()(std::optional<std::string>* text) const {
    if (json.is_null()) return text->reset();
    *text = text_setting(where, key, json);
  }
  void operator()(const nn::Named& named) const {
    if (!named.set(text_setting(where, key, json))) reject_setting(where, key, json);
  }
  template <class T>
  void operator()(std::optional<T>* number) const {
    if (json.is_null()) return number->reset();
    read_number(where, json, key, number->emplace());
  }
  template <class T>
  void operator()(T* number) const {
    read_number(where, json, key, *number);
  }
};

}  // namespace

Json parse_settings(std::string_view where, std::string_view text, std::string_view task) {
  Json json = json::parse(text, [&](const std::string& why) { fail(where, "the settings {}", why); });
  if (!json.is_object()) fail(where, "the settings cannot be read: they are {}", json::shown(json));
  const std::string found = text_setting(where, "task", std::as_const(json)["task"]);
  if (found != task) fail(where, "expected the settings of the task {}, got settings of {}", task, found);
  const Json version = json.contains("version") ? json["version"] : Json(1);
  if (!version.is_number_integer()) reject_setting(where, "version", version);
  if (version.get<int64_t>() > kSettingsVersion) {
    fail(where, "expected settings of version {} or older, got version {} (written by a newer tapegrad)",
         kSettingsVersion, version.dump());
  }
  return json;
}

void read_settings(std::string_view where, const Json& json, const nn::Fields& fields) {
  for (const nn::Field& field : fields) {
    const std::string key = field.setting.key();
    if (const Json* const entry = json.find(key)) std::visit(ReadValue{where, *entry, key}, field.value);
  }
}

std::string task_of_json(std::string_view where, std::string_view text) {
  const Json json = json::parse(text, [&](const std::string& why) { fail(where, "the JSON of the settings {}", why); });
  const Json& task = json["task"];
  return task.is_string() ? task.get<std::string>() : "";
}

}  // namespace tapegrad::train
