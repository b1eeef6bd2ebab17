// The one way to read JSON that comes from a file: without repeated keys, and bounded in size and depth, so that
// neither parsing, nor printing, nor freeing what was parsed can exhaust memory or the stack. And the one way to write
// JSON that may hold any bytes.
#pragma once

#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/io/internal/json_value.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::json {

inline constexpr uint64_t kMaxBytes = 100'000'000;
inline constexpr int kMaxDepth = 64;

// Levels of brackets outside strings, at most; exact for valid JSON, and for any text up to its first error.
int depth_of(std::string_view text);

// How the reason begins for a text that ends within a value.
inline constexpr std::string_view kIncomplete = "is not complete JSON";

// The JSON of `text`, in time proportional to its length. For anything else, and for a key that occurs twice in one
// object (of which a parser alone would keep the last), `why` is set: it continues a sentence whose subject is the
// text. `offset` is where the text begins in its file.
Json parse_or_why(std::string_view text, std::string& why, int max_depth = kMaxDepth, uint64_t offset = 0,
                  const TakeMember& take = nullptr);

// The same, but invalid JSON calls refuse(why), which must throw.
template <class Refuse>
Json parse(std::string_view text, const Refuse& refuse, int max_depth = kMaxDepth, uint64_t offset = 0,
           const TakeMember& take = nullptr) {
  std::string why;
  Json parsed = parse_or_why(text, why, max_depth, offset, take);
  if (why.empty()) return parsed;
  refuse(why);
  fail("json", why);
}

// A value for a message: its first 80 characters, in ASCII.
inline std::string shown(const Json& value) {
  const std::string text = value.dump(-1, true, Json::BadUtf8::replace);
  return text.size() <= 80 ? text : text.substr(0, 77) + "...";
}

// The text of a value that this library made. A string that is not UTF-8, as the name of a file may be, becomes the
// object {"bytes":[...]}, so that nothing is lost and nothing throws. (Keys are always UTF-8.)
std::string text_of(const Json& value);

}  // namespace tapegrad::json
