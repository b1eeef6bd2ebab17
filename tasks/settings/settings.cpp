// Checks, compares and overrides settings, and carries them to and from JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/tasks/settings/nearest.h>
#include <tapegrad/tasks/settings/settings.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

namespace tapegrad::tasks {
namespace {

constexpr int64_t kJsonVersion = 2;  // of the JSON; 1, of files without "version", had fewer settings

// Of JSON that json::text_of() wrote; nothing for other JSON.
std::optional<std::string> string_of(const nlohmann::json& json) {
  if (json.is_string()) return json.get<std::string>();
  const nlohmann::json& bytes = json::member(json, "bytes");
  if (!bytes.is_array()) return {};
  std::string text;
  for (const nlohmann::json& byte : bytes) {
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

void read_number(std::string_view where, const nlohmann::json& json, std::string_view key, auto& number) {
  using T = std::decay_t<decltype(number)>;
  const bool same_kind = std::is_same_v<T, bool>     ? json.is_boolean()
                         : std::is_same_v<T, double> ? json.is_number()
                                                     : json.is_number_integer();
  if (!same_kind) refuse_setting(where, key, json);
  number = json.get<T>();
}

[[noreturn]] void refuse_choice(const Setting& s, std::string_view got) {
  bad_request(s.option(), expected_one_of({s.choices.begin(), s.choices.end()}, got));
}

// Reads and writes the value of a member in JSON.
struct ReadValue {
  std::string_view where;
  const nlohmann::json& json;
  const Setting& setting;
  std::string key = setting.key();

  void operator()(std::string* text) const { *text = text_setting(where, key, json); }
  void operator()(std::vector<std::string>* texts) const {
    if (!json.is_array()) refuse_setting(where, key, json);
    texts->clear();
    for (const nlohmann::json& element : json) texts->push_back(text_setting(where, key, element));
  }
  void operator()(std::optional<std::string>* text) const {
    if (json.is_null()) return text->reset();
    *text = text_setting(where, key, json);
  }
  void operator()(const nn::Named& named) const {
    const std::string name = text_setting(where, key, json);
    if (!named.set(name)) refuse_choice(setting, name);
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

struct WriteValue {
  nlohmann::ordered_json operator()(const nn::Named& named) const { return named.name(); }
  template <class T>
  nlohmann::ordered_json operator()(const std::optional<T>* number) const {
    return *number ? nlohmann::ordered_json(**number) : nlohmann::ordered_json();
  }
  template <class T>
  nlohmann::ordered_json operator()(const T* value) const {
    return *value;
  }
};

}  // namespace

void add_fields(Fields& fields, const Fields& more) {
  for (Field field : more) {
    Limits& limits = field.setting.limits;
    if (field.setting.group.empty()) field.setting.group = Group::model;
    if (std::holds_alternative<int64_t*>(field.value)) {
      if (limits.open_below) limits = {.least = limits.least + 1, .most = limits.most};
      limits.most = std::min(limits.most, kMost);
    } else if (limits == nn::kShare) {
      limits = kProbability;
    }
    fields.add(field);
  }
}

void check_limits(const Fields& fields) {
  for (const Field& field : fields) {
    const std::string fault = field.fault("a number");
    if (fault.empty()) continue;
    if (!field.setting.choices.empty()) refuse_choice(field.setting, field.text());
    bad_request(field.setting.option(), fault);
  }
}

bool contains(const Given& given, std::string_view name) {
  return std::find(given.begin(), given.end(), name) != given.end();
}

void override_with(const Fields& fields, const Fields& asked, const Given& given) {
  for (const std::string& name : given) {
    const Field *to = fields.find(name), *from = asked.find(name);
    if (to != nullptr && from != nullptr) to->copy_from(*from);
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
  nlohmann::ordered_json json{{"task", task}, {"version", kJsonVersion}};
  for (const Field& field : fields) json[field.setting.key()] = std::visit(WriteValue(), field.value);
  return json::text_of(json);
}

void from_json(std::string_view where, std::string_view text, std::string_view task, const Fields& fields) {
  const nlohmann::json json =
      json::parse(text, [&](const std::string& why) { fail(where, fmt::format("the settings {}", why)); });
  if (!json.is_object()) fail(where, fmt::format("the settings cannot be read: they are {}", json::shown(json)));
  const std::string found = text_setting(where, "task", json::member(json, "task"));
  if (found != task) fail(where, fmt::format("expected the settings of the task {}, got settings of {}", task, found));
  const nlohmann::json version = json.contains("version") ? json["version"] : nlohmann::json(1);
  if (!version.is_number_integer()) refuse_setting(where, "version", version);
  if (version > kJsonVersion) {
    fail(where, fmt::format("expected settings of version {} or older, got version {} (written by a newer tapegrad)",
                            kJsonVersion, version.dump()));
  }
  for (const Field& field : fields) {
    const auto entry = json.find(field.setting.key());
    if (entry != json.end()) std::visit(ReadValue{where, *entry, field.setting}, field.value);
  }
}

std::string task_of_json(std::string_view where, std::string_view text) {
  const nlohmann::json json =
      json::parse(text, [&](const std::string& why) { fail(where, fmt::format("the JSON of the settings {}", why)); });
  const nlohmann::json& task = json::member(json, "task");
  return task.is_string() ? task.get<std::string>() : "";
}

uint64_t memory_bytes() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void require_memory(std::string_view where, std::string_view what, double bytes) {
  const auto memory = static_cast<double>(memory_bytes());
  require(bytes <= memory, where,
          fmt::format("{} takes about {:.1f} GB, this machine has {:.1f} GB", what, bytes * 1e-9, memory * 1e-9));
}

void require_layers(std::string_view where, std::string_view key, int64_t layers, std::size_t tensors) {
  if (layers > static_cast<int64_t>(tensors))
    fail(where, fmt::format("expected {} <= {}, the number of tensors in its weights, got {}", key, tensors, layers));
}

}  // namespace tapegrad::tasks
