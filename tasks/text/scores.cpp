// Scores predictions, and makes those of the baselines.
#include <tapegrad/autograd/error.h>
#include <tapegrad/tasks/metrics/bleu.h>
#include <tapegrad/tasks/metrics/spans.h>
#include <tapegrad/tasks/text/scores.h>

#include <algorithm>
#include <map>
#include <set>

namespace tapegrad::tasks {
namespace {

TextScores of_classes(std::span<const TextExample> examples, std::span<const std::string> predictions,
                      std::vector<std::string> classes) {
  // Names that training did not have are classes, too: of the examples, and of a baseline's predictions.
  const std::set<std::string> known(classes.begin(), classes.end());
  std::set<std::string> others(predictions.begin(), predictions.end());
  for (const TextExample& example : examples) others.insert(example.target);
  std::erase_if(others, [&](const std::string& one) { return known.contains(one); });
  classes.insert(classes.end(), others.begin(), others.end());
  std::map<std::string, int64_t> numbers;
  for (const std::string& one : classes) numbers.emplace(one, static_cast<int64_t>(numbers.size()));
  metrics::ConfusionMatrix matrix(classes);
  for (std::size_t i = 0; i < examples.size(); ++i)
    matrix.add(numbers.at(examples[i].target), numbers.at(predictions[i]));
  return {.examples = matrix.examples(),
          .values = {{"accuracy", matrix.accuracy()}, {"macro_f1", matrix.macro_f1()}},
          .confusion = std::move(matrix)};
}

TextScores of_summaries(std::span<const TextExample> examples, std::span<const std::string> predictions) {
  std::vector<metrics::TextPair> pairs;
  for (std::size_t i = 0; i < examples.size(); ++i) pairs.emplace_back(predictions[i], examples[i].target);
  const metrics::Rouge rouge = metrics::mean_rouge(pairs);
  return {.examples = static_cast<int64_t>(pairs.size()),
          .values = {{"rouge_l", rouge.rouge_l.f1},
                     {"rouge1", rouge.rouge1.f1},
                     {"rouge2", rouge.rouge2.f1},
                     {"bleu", metrics::bleu(pairs).score}},
          .confusion = {}};
}

TextScores of_answers(std::span<const TextExample> examples, std::span<const std::string> predictions) {
  double exact = 0, f1 = 0;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    exact += metrics::exact_answer(predictions[i], examples[i].target) ? 1 : 0;
    f1 += metrics::answer_f1(predictions[i], examples[i].target);
  }
  const double count = std::max<double>(1, static_cast<double>(examples.size()));
  return {.examples = static_cast<int64_t>(examples.size()),
          .values = {{"exact_match", exact / count}, {"f1", f1 / count}},
          .confusion = {}};
}

std::string majority_class(std::span<const TextExample> training) {
  std::map<std::string, int64_t> counts;
  for (const TextExample& example : training) ++counts[example.target];
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? "" : most->first;
}

// Up to the first full stop before a space, or the end of the line.
std::string first_sentence(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  return std::string(text.substr(0, text.find(". ")));
}

std::string first_value(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  const std::size_t colon = text.find(": ");
  return std::string(colon == std::string_view::npos ? text : text.substr(colon + 2));
}

}  // namespace

std::vector<std::string> classes_of(std::span<const TextExample> examples) {
  std::set<std::string> classes;
  for (const TextExample& example : examples) classes.insert(example.target);
  return {classes.begin(), classes.end()};
}

TextScores score(TextTask task, std::span<const TextExample> examples, std::span<const std::string> predictions,
                 const std::vector<std::string>& classes) {
  if (examples.size() != predictions.size()) fail("score", "expected one prediction per example");
  if (task == TextTask::classify) return of_classes(examples, predictions, classes);
  return task == TextTask::summarize ? of_summaries(examples, predictions) : of_answers(examples, predictions);
}

std::vector<std::string> baseline(TextTask task, std::span<const TextExample> training,
                                  std::span<const TextExample> examples) {
  const std::string majority = task == TextTask::classify ? majority_class(training) : "";
  std::vector<std::string> predictions;
  for (const TextExample& example : examples) {
    predictions.push_back(task == TextTask::classify    ? majority
                          : task == TextTask::summarize ? first_sentence(example.text)
                                                        : first_value(example.text));
  }
  return predictions;
}

std::string_view baseline_name(TextTask task) {
  return task == TextTask::classify ? "majority class" : task == TextTask::summarize ? "first sentence" : "first line";
}

}  // namespace tapegrad::tasks
