// Reads the configuration of a model or an adapter from JSON. Errors name the file and the key.
#pragma once

#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/autograd/io/internal/known_keys.h>
#include <tapegrad/nn/fields.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tapegrad::nn {

// Of numbers that are 0 or near 1 in every model.
inline constexpr Limits kFactor{.least = 0, .most = 1e6, .open_below = true};

// The members of one object. A member that is null counts as missing.
struct ConfigReader {
  const nlohmann::json& json;
  std::string_view where;      // of errors: the file, or what reads it
  std::string_view file = {};  // where `where` does not name it

  bool has(const char* key) const {
    const auto found = json.find(key);
    return found != json.end() && !found->is_null();
  }
  // From 1 on.
  int64_t size(const char* key, std::optional<int64_t> otherwise = {}) const {
    constexpr uint64_t kMost = 100'000'000;  // of anything in a configuration
    if (!has(key) && otherwise) return *otherwise;
    const nlohmann::json value = has(key) ? json[key] : nlohmann::json();
    if (!value.is_number_unsigned() || value == 0 || value.get<uint64_t>() > kMost)
      refuse(key, fmt::format("a whole number from 1 to {}", kMost), value);
    return value.get<int64_t>();
  }
  double number(const char* key, const Limits& limits, std::optional<double> otherwise = {}) const {
    if (!has(key) && otherwise) return *otherwise;
    const nlohmann::json value = has(key) ? json[key] : nlohmann::json();
    if (!value.is_number() || !limits.accept(value.get<double>()))
      refuse(key, fmt::format("a number {}", limits.wording()), value);
    return value.get<double>();
  }
  bool flag(const char* key, bool otherwise = false) const {
    if (!has(key)) return otherwise;
    if (!json[key].is_boolean()) refuse(key, "true or false", json[key]);
    return json[key].get<bool>();
  }
  // The JSON of what is not a string, which no reader expects then.
  std::string text(const char* key, const char* otherwise) const {
    if (!has(key)) return otherwise;
    return json[key].is_string() ? json[key].get<std::string>() : tapegrad::json::shown(json[key]);
  }
  // A member that is an object; an empty one if it is missing.
  nlohmann::json object(const char* key) const {
    if (!has(key)) return nlohmann::json::object();
    if (!json[key].is_object()) refuse(key, "an object", json[key]);
    return json[key];
  }

  // Error for a member that is in none of the lists.
  void require_known(std::initializer_list<tapegrad::json::KnownKeys> lists, bool off = false) const {
    const std::string why = tapegrad::json::unknown_key(json, lists, off);
    if (!why.empty()) fail(where, fmt::format("{}{}{}", file, file.empty() ? "" : ": ", why));
  }
  [[noreturn]] void refuse(std::string_view key, std::string_view needed, const nlohmann::json& value) const {
    fail(where, fmt::format("{}{}expected {} to be {}, got {}", file, file.empty() ? "" : ": ", key, needed,
                            tapegrad::json::shown(value)));
  }
};

// The object that the text of a file holds.
inline nlohmann::json parsed_config(std::string_view text, std::string_view where) {
  nlohmann::json json = json::parse(text, [&](const std::string& why) { fail(where, why); });
  if (!json.is_object()) fail(where, fmt::format("expected an object, got {}", json.type_name()));
  return json;
}

// Calls check(), whose errors are then about the file.
void check_config(const auto& check, std::string_view where) {
  try {
    check();
  } catch (const Error& e) {
    const std::string_view text = e.what();  // "[config] message"
    fail(where, text.substr(text.find("] ") + 2));
  }
}

}  // namespace tapegrad::nn
