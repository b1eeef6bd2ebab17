// Scores of predictions: the metrics of each task, and baselines that learn nothing.
#pragma once

#include <tapegrad/tasks/metrics/classification.h>
#include <tapegrad/tasks/text/corpus/corpus.h>

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tapegrad::tasks {

struct TextScores {
  int64_t examples = 0;
  /// Names and values; the first is what --target is about.
  ///   classify   accuracy, macro_f1
  ///   summarize  rouge_l, rouge1, rouge2 (F1), bleu (0 to 100)
  ///   answer     exact_match, f1
  std::vector<std::pair<std::string, double>> values;
  std::optional<metrics::ConfusionMatrix> confusion;  // classify only
};

/// The class names in the examples, sorted.
std::vector<std::string> classes_of(std::span<const TextExample> examples);

/// Scores of one prediction per example. A class that is not in `classes` counts as wrong.
TextScores score(TextTask task, std::span<const TextExample> examples, std::span<const std::string> predictions,
                 const std::vector<std::string>& classes);

/// classify: the class that most of the training examples have; summarize: the text's first sentence; answer: the value
/// on the record's first line.
std::vector<std::string> baseline(TextTask task, std::span<const TextExample> training,
                                  std::span<const TextExample> examples);
/// "majority class", "first sentence", "first line".
std::string_view baseline_name(TextTask task);

}  // namespace tapegrad::tasks
