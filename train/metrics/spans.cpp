// Normalises answers and compares their words.
#include <tapegrad/train/data/split.h>
#include <tapegrad/train/data/utf8.h>
#include <tapegrad/train/metrics/spans.h>
#include <tapegrad/train/metrics/words.h>

namespace tapegrad::metrics {
namespace {

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
