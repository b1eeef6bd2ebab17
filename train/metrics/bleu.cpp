// Tokenizes as mteval-v13a does and computes BLEU from counts.
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/train/metrics/bleu.h>

#include <algorithm>

namespace tapegrad::metrics {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool point(char c) { return c == '.' || c == ','; }
// Punctuation that is always a word of its own: all of ASCII's but ' , - . and digits.
bool separate(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') ||
         (c >= ':' && c <= '@') || c == '/';
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// Rewrites each pair of neighbours for which `match` holds; pairs do not overlap, as in a regular expression's sub().
template <class Match, class Write>
std::string rewrite_pairs(const std::string& text, const Match& match, const Write& write) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 < text.size() && match(text[i], text[i + 1])) {
      write(out, text[i], text[i + 1]);
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

struct Statistics {
  std::array<int64_t, 4> shared = {}, total = {};
  int64_t length = 0, reference_length = 0;
};

void add(Statistics& s, std::string_view prediction, std::string_view reference) {
  const std::vector<std::string> predicted = bleu_words(prediction), expected = bleu_words(reference);
  s.length += static_cast<int64_t>(predicted.size());
  s.reference_length += static_cast<int64_t>(expected.size());
  for (std::size_t n = 0; n < 4; ++n) {
    s.shared[n] += shared_count(count_ngrams(predicted, n + 1), count_ngrams(expected, n + 1));
    s.total[n] += std::max<int64_t>(0, static_cast<int64_t>(predicted.size()) - static_cast<int64_t>(n));
  }
}

Bleu score_of(const Statistics& s, bool only_possible_orders) {
  Bleu out{.length = s.length, .reference_length = s.reference_length};
  out.brevity_penalty = s.length >= s.reference_length ? 1
                        : s.length == 0
                            ? 0
                            : fixed::exp(1 - static_cast<double>(s.reference_length) / static_cast<double>(s.length));
  if (std::ranges::all_of(s.shared, [](int64_t n) { return n == 0; })) return out;
  std::size_t orders = 4;
  double smoothing = 1, logs = 0;
  for (std::size_t n = 0; n < 4 && s.total[n] > 0; ++n) {
    if (only_possible_orders) orders = n + 1;
    if (s.shared[n] == 0) smoothing *= 2;
    const double numerator = s.shared[n] == 0 ? 100 / smoothing : 100 * static_cast<double>(s.shared[n]);
    out.precisions[n] = numerator / static_cast<double>(s.total[n]);
  }
  for (std::size_t n = 0; n < orders; ++n) {
    if (out.precisions[n] == 0) return out;
    logs += fixed::log(out.precisions[n]);
  }
  out.score = out.brevity_penalty * fixed::exp(logs / static_cast<double>(orders));
  return out;
}

}  // namespace

std::vector<std::string> bleu_words(std::string_view text) {
  std::string line(without_spaces_at_end(text));
  replace_all(line, "<skipped>", "");
  replace_all(line, "-\n", "");
  replace_all(line, "\n", " ");
  replace_all(line, "&quot;", "\"");
  replace_all(line, "&amp;", "&");
  replace_all(line, "&lt;", "<");
  replace_all(line, "&gt;", ">");
  std::string apart = " ";
  for (const char c : line) apart += separate(c) ? std::string{' ', c, ' '} : std::string{c};
  apart += ' ';
  const auto after = [](std::string& out, char a, char b) { out += {a, ' ', b, ' '}; };
  const auto before = [](std::string& out, char a, char b) { out += {' ', a, ' ', b}; };
  apart = rewrite_pairs(
      apart, [](char a, char b) { return !digit(a) && point(b); }, after);
  apart = rewrite_pairs(
      apart, [](char a, char b) { return point(a) && !digit(b); }, before);
  apart = rewrite_pairs(
      apart, [](char a, char b) { return digit(a) && b == '-'; }, after);
  return split_at_spaces(apart);
}

Bleu bleu(std::span<const TextPair> pairs) {
  Statistics all;
  for (const auto& [prediction, reference] : pairs) add(all, prediction, reference);
  return score_of(all, false);
}

Bleu sentence_bleu(std::string_view prediction, std::string_view reference) {
  Statistics one;
  add(one, prediction, reference);
  return score_of(one, true);
}

}  // namespace tapegrad::metrics
