// Which keys of a file that another program wrote a reader knows. A key that is in none of its lists may change what
// the file means; so may a value that is harmless only at its default. Both are errors, never skipped.
#pragma once

#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/json.h>

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace tapegrad::json {

// A key that is harmless at some values: those of a JSON array, or null.
struct KeyAt {
  std::string_view key, values;
};

struct KnownKeys {
  std::span<const std::string_view> read = {};      // the reader looks at their values
  std::span<const std::string_view> harmless = {};  // at every value
  std::span<const KeyAt> only = {};                 // at these values alone
};

// What is wrong with the first key of an object that no list knows: a sentence for an error, or an empty text. A value
// that is null counts as missing, and a key that begins with "_" as a note of the program that wrote it. With `off`, so
// does a switch that is off: false, [] or {}.
inline std::string unknown_key(const nlohmann::json& object, std::initializer_list<KnownKeys> lists, bool off = false) {
  const auto has = [](std::span<const std::string_view> keys, std::string_view key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  for (const auto& [key, value] : object.items()) {
    bool known = value.is_null() || key.starts_with('_');
    for (const KnownKeys& list : lists) {
      known = known || has(list.read, key) || has(list.harmless, key);
      for (const KeyAt& at : list.only) {
        if (known || at.key != key) continue;
        const nlohmann::json values = nlohmann::json::parse(at.values);
        if (std::find(values.begin(), values.end(), value) == values.end()) {
          std::string expected;
          for (const nlohmann::json& one : values) expected += (expected.empty() ? "" : " or ") + shown(one);
          return fmt::format("expected {} {}, got {}", key, expected, shown(value));
        }
        known = true;
      }
    }
    if (known || (off && (value == false || (value.is_structured() && value.empty())))) continue;
    return fmt::format(
        "expected only keys whose meaning is known, got {}: {} (remove the key if the result does not depend on it)",
        shown(key), shown(value));
  }
  return {};
}

}  // namespace tapegrad::json
