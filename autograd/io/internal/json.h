// The one way to read JSON that comes from a file: without repeated keys, and bounded in size and depth, so that
// neither parsing, nor showing, nor freeing what was parsed can exhaust memory or the stack. And the one way to write
// JSON that may hold any bytes.
#pragma once

#include <fmt/format.h>
#include <tapegrad/autograd/error.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace tapegrad::json {

inline constexpr uint64_t kMaxBytes = 100'000'000;
inline constexpr int kMaxDepth = 64;

// Levels of brackets outside strings, at most; exact for valid JSON, and for any text up to its first error.
inline int depth_of(std::string_view text) {
  int depth = 0, most = 0;
  bool string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (string) {
      if (c == '\\') ++i;
      if (c == '"') string = false;
    } else if (c == '"') {
      string = true;
    } else if (c == '[' || c == '{') {
      most = std::max(most, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return most;
}

// The JSON of `text`. Calls refuse(why), which must throw, for anything else, and for a key that occurs twice in one
// object, of which the parser alone would keep the last: `why` continues a sentence whose subject is the text. `offset`
// is where the text begins in its file. `callback` is nlohmann's.
template <class Refuse>
nlohmann::json parse(std::string_view text, const Refuse& refuse, int max_depth = kMaxDepth, uint64_t offset = 0,
                     const nlohmann::json::parser_callback_t& callback = nullptr) {
  if (text.size() > kMaxBytes) refuse(fmt::format("has {} bytes, at most {} are allowed", text.size(), kMaxBytes));
  if (depth_of(text) > max_depth) refuse(fmt::format("is nested deeper than {} levels", max_depth));
  using Event = nlohmann::json::parse_event_t;
  std::vector<std::unordered_set<std::string>> keys;  // of the open objects, by depth
  const auto each = [&](int depth, Event event, nlohmann::json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (event == Event::object_start) {
      keys.resize(std::max(keys.size(), level + 1));
      keys[level].clear();
    } else if (event == Event::key) {
      const std::string& key = parsed.template get_ref<const std::string&>();
      if (!keys[level - 1].insert(key).second) refuse(fmt::format("has the key \"{}\" twice", key));
    }
    return callback ? callback(depth, event, parsed) : true;
  };
  std::string why;
  try {
    return nlohmann::json::parse(text, each);
  } catch (const nlohmann::json::parse_error& e) {
    why = e.byte > text.size() ? fmt::format(
                                     "is not complete JSON: it ends after {} bytes (was its download "
                                     "interrupted?)",
                                     text.size())
                               : fmt::format("is not JSON (at byte {})", offset + e.byte - 1);
  } catch (const nlohmann::json::out_of_range&) {
    why = "holds a number that is too large";
  }
  refuse(why);
  fail("json", why);
}

// A value for a message: its first 80 characters, in ASCII.
inline std::string shown(const nlohmann::json& value) {
  const std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  return text.size() <= 80 ? text : text.substr(0, 77) + "...";
}

// The text of a value that we made. A string that is not UTF-8, as the name of a file may be, becomes the object
// {"bytes":[...]}, so that nothing is lost and nothing throws. (Keys are ours.)
template <class Json>
std::string text_of(const Json& value) {
  const auto valid = [](const Json& json) {
    try {
      json.dump();
      return true;
    } catch (const nlohmann::json::type_error&) {
      return false;
    }
  };
  if (valid(value)) return value.dump();
  Json copy = value;
  const auto repair = [&](auto&& self, Json& json) -> void {
    if (json.is_string() && !valid(json)) {
      const std::string text = json.template get<std::string>();
      json = Json{{"bytes", std::vector<unsigned char>(text.begin(), text.end())}};
    } else if (json.is_structured()) {
      for (Json& element : json) self(self, element);
    }
  };
  repair(repair, copy);
  return copy.dump();
}

}  // namespace tapegrad::json
