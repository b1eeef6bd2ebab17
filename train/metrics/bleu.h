// BLEU: the n-grams that predictions share with their references. Papineni et al. 2002.
#pragma once

#include <tapegrad/train/metrics/rouge.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::metrics {

/// The words that BLEU counts, by the rules of mteval-v13a: punctuation is separated, except within numbers.
std::vector<std::string> bleu_words(std::string_view text);

/// A score, and what it is made of.
struct Bleu {
  double score = 0;                          ///< 0 to 100
  std::array<double, 4> precisions = {};     ///< of 1 to 4 words, 0 to 100, smoothed where nothing is shared
  double brevity_penalty = 0;                ///< 1, or less if the predictions are shorter than the references
  int64_t length = 0, reference_length = 0;  ///< in words
};

/// Over all pairs (prediction, reference) together, equal to sacrebleu 2's corpus_bleu with its defaults: 13a words,
/// case, exponential smoothing.
Bleu bleu(std::span<const TextPair> pairs);
/// Of one sentence, as sacrebleu's sentence_bleu: orders longer than the sentence are left out.
Bleu sentence_bleu(std::string_view prediction, std::string_view reference);

}  // namespace tapegrad::metrics
