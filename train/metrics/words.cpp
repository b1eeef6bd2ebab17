// Splits texts into words and counts sequences of them; compares answers by their words.
#include <tapegrad/train/data/split.h>
#include <tapegrad/train/data/utf8.h>
#include <tapegrad/train/metrics/spans.h>
#include <tapegrad/train/metrics/words.h>

#include <algorithm>

namespace tapegrad::metrics {
namespace {

bool is_space(uint32_t code) {  // str.isspace(): White_Space and four separators of ASCII
  return (code >= 0x1c && code <= 0x1f) || data::class_of(code) == data::CharacterClass::space;
}

// --- answers ---

bool punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// Replaces the articles by spaces: runs of letters and numbers that are a, an or the.
std::string without_articles(std::string_view text) {
  std::string out, word;
  const auto end_word = [&] {
    out += word == "a" || word == "an" || word == "the" ? " " : word;
    word.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    const data::Character c = data::first_character(text.substr(at));
    const std::string_view piece = text.substr(at, static_cast<std::size_t>(c.bytes));
    const data::CharacterClass kind = c.valid ? data::class_of(c.code) : data::CharacterClass::other;
    at += piece.size();
    if (kind == data::CharacterClass::letter || kind == data::CharacterClass::number) {
      word += piece;
    } else {
      end_word();
      out += piece;
    }
  }
  end_word();
  return out;
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

// --- answers ---

std::string normalized_answer(std::string_view text) {
  std::string kept;
  for (const char c : ascii_lower(text))
    if (!punctuation(c)) kept += c;
  std::string out;
  for (const std::string& word : split_at_spaces(without_articles(kept))) out += (out.empty() ? "" : " ") + word;
  return out;
}

bool exact_answer(std::string_view prediction, std::string_view reference) {
  return normalized_answer(prediction) == normalized_answer(reference);
}

double answer_f1(std::string_view prediction, std::string_view reference) {
  const std::vector<std::string> predicted = split_at_spaces(normalized_answer(prediction));
  const std::vector<std::string> expected = split_at_spaces(normalized_answer(reference));
  const auto shared = static_cast<double>(shared_count(count_ngrams(predicted, 1), count_ngrams(expected, 1)));
  if (shared == 0) return 0;
  return overlap_of(shared / static_cast<double>(predicted.size()), shared / static_cast<double>(expected.size())).f1;
}

}  // namespace tapegrad::metrics
