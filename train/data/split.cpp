#include <tapegrad/train/data/detail/special_tokens.h>
#include <tapegrad/train/data/split.h>
#include <tapegrad/train/data/utf8.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>

namespace tapegrad::data {
namespace {

struct Range {
  uint32_t first, last;
};

#include <tapegrad/train/data/tokenizers/detail/unicode_ranges.inc>

template <std::size_t N>
bool among(const Range (&ranges)[N], uint32_t code) {
  const Range* const found =
      std::ranges::partition_point(ranges, [code](const Range& range) { return range.last < code; });
  return found != std::end(ranges) && found->first <= code;
}

constexpr CharacterClass class_of_ascii(uint32_t code) {
  if ((code | 0x20) >= 'a' && (code | 0x20) <= 'z') return CharacterClass::letter;
  if (code >= '0' && code <= '9') return CharacterClass::number;
  return code == ' ' || (code >= '\t' && code <= '\r') ? CharacterClass::space : CharacterClass::other;
}

constexpr std::array<CharacterClass, 128> kAscii = [] {
  std::array<CharacterClass, 128> classes{};
  for (uint32_t code = 0; code < 128; ++code) classes[code] = class_of_ascii(code);
  return classes;
}();

struct Classified {
  CharacterClass is;
  std::size_t bytes;
};

Classified classify(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x80) return {kAscii[byte], 1};
  const Character c = first_character(text.substr(at));
  return {c.valid ? class_of(c.code) : CharacterClass::other, static_cast<std::size_t>(c.bytes)};
}

// The end of the run of characters of one class that starts at `at`.
std::size_t run_end(std::string_view text, std::size_t at, CharacterClass is) {
  while (at < text.size()) {
    const Classified next = classify(text, at);
    if (next.is != is) break;
    at += next.bytes;
  }
  return at;
}

// The end of the white space that begins at `from`. Where it does not end the text, its last character, which the
// following word begins with, does not belong to it, unless that is the only one.
std::size_t spaces_end(std::string_view text, std::size_t from) {
  const std::size_t end = run_end(text, from, CharacterClass::space);
  std::size_t last = end - 1;
  while (continues_character(text[last])) --last;
  return end == text.size() || last == from ? end : last;
}

// The length of 's 't 're 've 'm 'll 'd at the start of `text`, or 0.
std::size_t contraction(std::string_view text) {
  if (text.size() < 2 || text[0] != '\'') return 0;
  if (std::string_view("stmd").find(text[1]) != std::string_view::npos) return 2;
  for (const std::string_view two : {"re", "ve", "ll"}) {
    if (text.substr(1, 2) == two) return 3;
  }
  return 0;
}

}  // namespace

CharacterClass class_of(uint32_t code) {
  if (code < 0x80) return kAscii[code];
  if (among(kLetters, code)) return CharacterClass::letter;
  if (among(kNumbers, code)) return CharacterClass::number;
  return among(kSpaces, code) ? CharacterClass::space : CharacterClass::other;
}

std::size_t word_end(std::string_view text, std::size_t from) {
  if (const std::size_t bytes = contraction(text.substr(from, 3)); bytes > 0) return from + bytes;
  const Classified first = classify(text, from);
  if (first.is != CharacterClass::space) return run_end(text, from, first.is);
  if (text[from] == ' ' && from + 1 < text.size()) {  // one space belongs to the following word
    const Classified second = classify(text, from + 1);
    if (second.is != CharacterClass::space) return run_end(text, from + 1, second.is);
  }
  return spaces_end(text, from);
}

std::size_t word_cut(std::string_view text, std::size_t from, std::span<const std::string> special_tokens) {
  return detail::word_cut(text, from, detail::SpecialTokens(special_tokens));
}

std::size_t detail::word_cut(std::string_view text, std::size_t from, const SpecialTokens& special_tokens) {
  using enum CharacterClass;
  // The class of the character before `at`, where another one begins; nothing if it may be part of a longer one.
  const auto class_before = [text](std::size_t at) -> std::optional<CharacterClass> {
    std::size_t begin = at - 1;
    while (continues_character(text[begin])) {
      if (begin == 0 || at - begin == 4) return std::nullopt;
      --begin;
    }
    Classified last{};
    for (const std::string_view before = text.substr(0, at); begin < at; begin += last.bytes) {
      last = classify(before, begin);
    }
    return last.is;
  };
  for (std::size_t at = std::max<std::size_t>(from, 1); at < text.size(); ++at) {
    if (continues_character(text[at])) continue;
    if (first_character(text.substr(at)).cut) break;
    const std::optional<CharacterClass> before = class_before(at);
    if (!before) continue;
    const Classified next = classify(text, at);
    if (*before != space) {
      if (*before == next.is || (text[at - 1] == '\'' && next.is == letter)) continue;
      if (!special_tokens.is_near(text, at)) return at;
      continue;
    }
    const std::size_t after = at + next.bytes;
    if (next.is != space || after >= text.size()) continue;
    if (const Character c = first_character(text.substr(after)); c.cut || (c.valid && class_of(c.code) == space))
      continue;
    if (!special_tokens.is_near(text, at)) return at;
  }
  return std::string_view::npos;
}

namespace {

// The length of a contraction in letters of either case at the start of `text`, or 0. The long s is a form of s.
std::size_t contraction_of_any_case(std::string_view text) {
  if (text.size() < 2 || text[0] != '\'') return 0;
  if (text.substr(1).starts_with("\u017f")) return 3;
  std::string lower(text.substr(0, 3));
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return contraction(lower);
}

bool is_newline(char c) { return c == '\r' || c == '\n'; }

std::size_t llama3_word_end(std::string_view text, std::size_t from) {
  using enum CharacterClass;
  constexpr int kDigits = 3;
  if (const std::size_t bytes = contraction_of_any_case(text.substr(from)); bytes > 0) return from + bytes;
  const Classified first = classify(text, from);
  if (first.is == letter) return run_end(text, from, letter);
  const std::size_t second = from + first.bytes;
  const auto class_at = [text](std::size_t at) { return at < text.size() ? classify(text, at).is : space; };
  if (first.is == number) {
    std::size_t end = second;
    for (int i = 1; i < kDigits && class_at(end) == number; ++i) end += classify(text, end).bytes;
    return end;
  }
  if (!is_newline(text[from]) && class_at(second) == letter) return run_end(text, second, letter);
  if (first.is == other || (text[from] == ' ' && class_at(second) == other)) {
    std::size_t end = run_end(text, first.is == other ? from : second, other);
    while (end < text.size() && is_newline(text[end])) ++end;
    return end;
  }
  // White space: up to its last newline; else as in GPT-2's pattern.
  const std::string_view spaces = text.substr(from, run_end(text, from, space) - from);
  const std::size_t newline = spaces.find_last_of("\r\n");
  return newline == spaces.npos ? spaces_end(text, from) : from + newline + 1;
}

}  // namespace

std::size_t word_end(std::string_view text, std::size_t from, WordPattern pattern) {
  return pattern == WordPattern::llama3 ? llama3_word_end(text, from) : word_end(text, from);
}

}  // namespace tapegrad::data
