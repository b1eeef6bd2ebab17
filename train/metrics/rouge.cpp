// Words, pairs of words and the longest common subsequence of two texts.
#include <tapegrad/train/metrics/rouge.h>

#include <algorithm>

namespace tapegrad::metrics {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::string kept;
  const std::string lower = ascii_lower(text);
  for (std::size_t i = 0; i < lower.size(); ++i) {
    // The two characters beyond ASCII whose lower case begins with an ASCII letter: I with a dot, and the kelvin sign.
    if (lower.compare(i, 2, "\xc4\xb0") == 0) {
      kept += "i ", ++i;
    } else if (lower.compare(i, 3, "\xe2\x84\xaa") == 0) {
      kept += "k", i += 2;
    } else {
      const char c = lower[i];
      kept += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : ' ';
    }
  }
  return split_at_spaces(kept);
}

Overlap of_ngrams(const std::vector<std::string>& prediction, const std::vector<std::string>& reference,
                  std::size_t order) {
  const auto count = [order](const std::vector<std::string>& words) {  // at least 1, for the division
    return static_cast<double>(words.size() >= order ? words.size() - order + 1 : 1);
  };
  const auto shared =
      static_cast<double>(shared_count(count_ngrams(prediction, order), count_ngrams(reference, order)));
  return overlap_of(shared / count(prediction), shared / count(reference));
}

Overlap of_subsequence(const std::vector<std::string>& prediction, const std::vector<std::string>& reference) {
  if (prediction.empty() || reference.empty()) return {};
  std::vector<int64_t> row(prediction.size() + 1, 0);  // longest, with the words of the reference so far
  for (const std::string& word : reference) {
    int64_t diagonal = 0;
    for (std::size_t i = 0; i < prediction.size(); ++i) {
      const int64_t above = row[i + 1];
      row[i + 1] = word == prediction[i] ? diagonal + 1 : std::max(above, row[i]);
      diagonal = above;
    }
  }
  const auto length = static_cast<double>(row.back());
  return overlap_of(length / static_cast<double>(prediction.size()), length / static_cast<double>(reference.size()));
}

void add(Overlap& sum, const Overlap& one, double share) {
  sum.precision += share * one.precision;
  sum.recall += share * one.recall;
  sum.f1 += share * one.f1;
}

}  // namespace

Rouge rouge(std::string_view prediction, std::string_view reference) {
  const std::vector<std::string> predicted = words_of(prediction), expected = words_of(reference);
  return {of_ngrams(predicted, expected, 1), of_ngrams(predicted, expected, 2), of_subsequence(predicted, expected)};
}

Rouge mean_rouge(std::span<const TextPair> pairs) {
  Rouge mean;
  const double share = pairs.empty() ? 0 : 1 / static_cast<double>(pairs.size());
  for (const auto& [prediction, reference] : pairs) {
    const Rouge one = rouge(prediction, reference);
    add(mean.rouge1, one.rouge1, share);
    add(mean.rouge2, one.rouge2, share);
    add(mean.rouge_l, one.rouge_l, share);
  }
  return mean;
}

}  // namespace tapegrad::metrics
