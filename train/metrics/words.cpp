// Splits texts into words and counts sequences of them.
#include <tapegrad/train/data/split.h>
#include <tapegrad/train/data/utf8.h>
#include <tapegrad/train/metrics/words.h>

#include <algorithm>

namespace tapegrad::metrics {
namespace {

bool is_space(uint32_t code) {  // str.isspace(): White_Space and four separators of ASCII
  return (code >= 0x1c && code <= 0x1f) || data::class_of(code) == data::CharacterClass::space;
}

}  // namespace

std::vector<std::string> split_at_spaces(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const data::Character c = data::first_character(text.substr(at));
    const bool space = c.valid && is_space(c.code);
    if (!space && !inside) words.emplace_back();
    if (!space) words.back() += text.substr(at, static_cast<std::size_t>(c.bytes));
    inside = !space;
    at += static_cast<std::size_t>(c.bytes);
  }
  return words;
}

std::string_view without_spaces_at_end(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const data::Character c = data::first_character(text.substr(at));
    at += static_cast<std::size_t>(c.bytes);
    if (!c.valid || !is_space(c.code)) end = at;
  }
  return text.substr(0, end);
}

std::string ascii_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

Counts count_ngrams(const std::vector<std::string>& words, std::size_t order) {
  Counts counts;
  for (std::size_t i = 0; i + order <= words.size(); ++i) {
    std::string key = words[i];
    for (std::size_t k = 1; k < order; ++k) key += ' ' + words[i + k];
    ++counts[key];
  }
  return counts;
}

int64_t shared_count(const Counts& a, const Counts& b) {
  int64_t shared = 0;
  for (const auto& [key, count] : a) {
    const auto other = b.find(key);
    if (other != b.end()) shared += std::min(count, other->second);
  }
  return shared;
}

Overlap overlap_of(double precision, double recall) {
  const double sum = precision + recall;
  return {precision, recall, sum > 0 ? 2 * precision * recall / sum : 0};
}

}  // namespace tapegrad::metrics
