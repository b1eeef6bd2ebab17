// Parses JSON from files, and says what is wrong with a text that is none.
#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/foreign.h>
#include <tapegrad/autograd/io/internal/json.h>

#include <algorithm>

namespace tapegrad::json {
namespace {

unsigned char byte_at_of(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

// The letters around `at`, with a sign.
std::string_view word_at(std::string_view text, std::size_t at) {
  const auto is_letter = [&](std::size_t i) { return (text[i] | 32) >= 'a' && (text[i] | 32) <= 'z'; };
  std::size_t begin = at, end = at;
  while (begin > 0 && is_letter(begin - 1)) --begin;
  if (begin > 0 && text[begin - 1] == '-') --begin;
  while (end < text.size() && is_letter(end)) ++end;
  return text.substr(begin, end - begin);
}

std::string lower_case(std::string_view word) {
  std::string lower(word);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

// Why a string is not valid, by the parser's message; empty if that is about something else.
std::string string_fault(std::string_view text, std::size_t at, uint64_t offset, std::string_view message) {
  const auto about = [&](std::string_view words) { return message.find(words) != std::string_view::npos; };
  if (about("UTF-8")) {
    std::size_t first = at;  // of the character that this byte should continue
    while (first > 0 && byte_at_of(text, at) < 0x80 && (first == at || (byte_at_of(text, first) & 0xC0) == 0x80))
      --first;
    return fmt::format("is not UTF-8: byte {} is 0x{:02X} (if it is Latin-1: iconv -f ISO-8859-1 -t UTF-8)",
                       offset + first, byte_at_of(text, first));
  }
  if (about("surrogate")) {
    std::size_t escape = text.rfind("\\u", at);
    if (escape >= 6 && lower_case(text.substr(escape + 2, 1)) != "d") escape -= 6;  // what follows the first half
    return fmt::format("has {}, half of a surrogate pair, in a string (at byte {}; both halves write one character)",
                       text.substr(escape, 6), offset + escape);
  }
  if (about("control character")) {
    return fmt::format("has the control character 0x{:02X} in a string (at byte {}; JSON writes it as \\u{:04x})",
                       byte_at_of(text, at), offset + at, byte_at_of(text, at));
  }
  return {};
}

// What is wrong at a byte outside strings, if it is one of the usual mistakes.
std::string usual_mistake(std::string_view text, std::size_t at, uint64_t offset) {
  const std::string_view word = word_at(text, at);
  const std::string lower = lower_case(word.substr(word.starts_with('-') ? 1 : 0));
  if (lower == "nan" || lower == "infinity" || lower == "inf")
    return fmt::format("has {}, which is not a number of JSON (at byte {}; write null)", word, offset + at);
  for (const std::string_view other : {"none", "true", "false", "null", "undefined"})
    if (lower == other) return fmt::format("has {} (at byte {}; JSON has true, false and null)", word, offset + at);
  const std::size_t before = at == 0 ? std::string_view::npos : text.find_last_not_of(" \t\r\n", at - 1);
  if ((text[at] == '}' || text[at] == ']') && before != std::string_view::npos && text[before] == ',')
    return fmt::format("has a comma before {} (at byte {})", text[at], offset + before);
  if (text[at] == '\'')
    return fmt::format("has a string in single quotes (at byte {}; JSON has double quotes: json.dumps writes them)",
                       offset + at);
  if (text[at] == '/' || text[at] == '#') return fmt::format("has a comment (at byte {}; JSON has none)", offset + at);
  if (text.substr(at).starts_with("\xEF\xBB\xBF"))
    return fmt::format("has a byte order mark inside (at byte {}; were two files joined?)", offset + at);
  return {};
}

std::string why_not(std::string_view text, const JsonFault& fault, uint64_t offset) {
  if (fault.twice) return fmt::format("has the key \"{}\" twice", *fault.twice);
  if (fault.overflow) return "holds a number that is too large";
  if (fault.end == 0 || fault.end > text.size())
    return fmt::format("{}: it ends after {} bytes (was its download interrupted?)", kIncomplete, text.size());
  const std::size_t at = fault.end - 1;
  std::string why = string_fault(text, at, offset, fault.message);
  if (why.empty() && fault.message.find("invalid string") == std::string::npos) why = usual_mistake(text, at, offset);
  return why.empty() ? fmt::format("is not JSON (at byte {})", offset + at) : why;
}

}  // namespace

int depth_of(std::string_view text) {
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

Json parse_or_why(std::string_view text, std::string& why, int max_depth, uint64_t offset, const TakeMember& take) {
  if (text.size() > kMaxBytes) {
    why = fmt::format("has {} bytes, at most {} are allowed", text.size(), kMaxBytes);
  } else if (const std::string kind = foreign_kind(text.substr(0, 512)); !kind.empty()) {
    why = "is not JSON, but " + kind;
  } else if (text.find('\0') != std::string_view::npos) {  // the parser would take it for the end
    why = "has a NUL byte (expected a text in UTF-8; is it UTF-16, or damaged?)";
  } else if (depth_of(text) > max_depth) {
    why = fmt::format("is nested deeper than {} levels", max_depth);
  }
  if (!why.empty()) return {};
  JsonFault fault;
  Json parsed = read_json(text, take, fault);
  if (fault) why = why_not(text, fault, offset);
  return parsed;
}

std::string text_of(const Json& value) {
  try {
    return value.dump();
  } catch (const JsonError&) {  // a string is not UTF-8
  }
  const auto repair = [](auto&& self, Json& json) -> void {
    if (json.is_array())
      for (Json& element : json) self(self, element);
    if (json.is_object())
      for (auto& [key, member] : json.items()) self(self, member);
    if (!json.is_string()) return;
    try {
      json.dump();
    } catch (const JsonError&) {
      json = Json{{"bytes", std::vector<unsigned char>(json.string().begin(), json.string().end())}};
    }
  };
  Json copy = value;
  repair(repair, copy);
  return copy.dump();
}

}  // namespace tapegrad::json
