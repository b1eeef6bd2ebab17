// ROUGE: the overlap of a summary with its reference. Lin 2004, "ROUGE: A Package for Automatic Evaluation of
// Summaries".
#pragma once

#include <tapegrad/train/metrics/words.h>

#include <span>
#include <string_view>
#include <utility>

namespace tapegrad::metrics {

/// Precision, recall and F1 of the pairs of words and of the longest common subsequence, equal to the results of
/// Python's rouge-score 0.1.2 without stemming: words are runs of a to z and 0 to 9 of the text in lower case.
struct Rouge {
  Overlap rouge1, rouge2;  ///< sequences of one word and of two
  Overlap rouge_l;         ///< longest common subsequence
};
/// Of one pair.
Rouge rouge(std::string_view prediction, std::string_view reference);

/// (prediction, reference)
using TextPair = std::pair<std::string, std::string>;
/// The means over all pairs; 0 where there are none.
Rouge mean_rouge(std::span<const TextPair> pairs);

}  // namespace tapegrad::metrics
