// The keys that a reader knows in a file that another program wrote. A key that is in none of the reader's lists may
// change what the file means; so may a value that is harmless only at its default. Both are errors, never skipped.
#pragma once

#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/json.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace tapegrad::json {

// Lists of words, with spaces between them.
struct KnownKeys {
  std::string_view read = {};      // the reader looks at their values
  std::string_view harmless = {};  // ignored, whatever their values
  std::string_view only = {};      // key=value: accepted with this JSON value or null alone
};

// Whether a word is in a list.
inline bool has_word(std::string_view list, std::string_view word) {
  return !word.empty() && word.find_first_of(" =") == std::string_view::npos &&
         fmt::format(" {} ", list).find(fmt::format(" {} ", word)) != std::string::npos;
}

// Whether a list of key=value has this key.
inline bool has_key(std::string_view only, std::string_view key) {
  return key.find_first_of(" =") == std::string_view::npos &&
         fmt::format(" {}", only).find(fmt::format(" {}=", key)) != std::string::npos;
}

// What is wrong with the first key of an object that no list knows: a sentence for an error, or an empty text. A value
// that is null counts as missing, and a key that begins with "_" as a note of the program that wrote it. With `off`, so
// does a switch that is off: false, [] or {}.
inline std::string unknown_key(const Json& object, std::initializer_list<KnownKeys> lists, bool off = false) {
  for (const auto& [key, value] : object.items()) {
    bool known = value.is_null() || key.starts_with('_');
    for (const KnownKeys& list : lists) {
      known = known || has_word(list.read, key) || has_word(list.harmless, key);
      const std::string only = fmt::format(" {} ", list.only), start = fmt::format(" {}=", key);
      const std::size_t at = only.find(start) + start.size();
      if (known || at < start.size() || key.find_first_of(" =") != std::string::npos) continue;
      const Json expected = Json::parse(only.substr(at, only.find(' ', at) - at));
      if (value != expected) return fmt::format("expected {} {}, got {}", key, shown(expected), shown(value));
      known = true;
    }
    if (known || (off && (value == false || (value.is_structured() && value.empty())))) continue;
    return fmt::format(
        "expected only keys whose meaning is known, got {}: {} (remove the key if the result does not depend on it)",
        shown(key), shown(value));
  }
  return {};
}

}  // namespace tapegrad::json
