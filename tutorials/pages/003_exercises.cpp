// Tutorial 003, the eleven exercises at the end of the chapter, with answers of ours.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>

namespace tapegrad::tasks::tutorial {
namespace {

// Applied exercise 1: three summaries of one text, measured by ROUGE.
constexpr std::string_view kReference = "small editor for text files";
constexpr std::string_view kSummaries[] = {"small text editor", "for text files small editor",
                                           "program that draws photos"};

Figure rouge_of_summaries() {
  drawing::Series one{"ROUGE-1"}, two{"ROUGE-2"}, longest{"ROUGE-L"};
  for (const std::string_view summary : kSummaries) {
    const metrics::Rouge scores = metrics::rouge(summary, kReference);
    one.y.push_back(scores.rouge1.f1);
    two.y.push_back(scores.rouge2.f1);
    longest.y.push_back(scores.rouge_l.f1);
  }
  return {draw(drawing::BarChart{.title = said("Three summaries, measured by ROUGE"),
                                 .labels = {"small text editor", said("words in disorder"), said("another topic")},
                                 .series = {one, two, longest},
                                 .width = 520})};
}

// Advanced exercises 1 and 2: pairs of tokens that one head of one layer compares.
Figure pairs_by_length() {
  constexpr double kWindow = 257, kSegment = 32;
  drawing::Series every{said("full: n^2")}, near{said("window: 257 n")}, segments{said("segments: 32 n + (n / 32)^2")};
  for (double n = 512; n <= 65536; n *= 2) {
    const double vectors = n / kSegment;
    every.add(n, n * n);
    near.add(n, kWindow * n);
    segments.add(n, kSegment * n + vectors * vectors);
  }
  return {draw(drawing::LineChart{.title = said("Pairs of tokens compared, by length"),
                                  .x_label = said("tokens"),
                                  .y_label = said("pairs"),
                                  .series = {every, near, segments},
                                  .log_y = true,
                                  .width = 520})};
}

// The probability of the likelier of two words, 0.7 in the training data, at a temperature; greedy at 0.
double share_at(double temperature) {
  if (temperature == 0) return 1;
  return softmax(log(tensor({0.7, 0.3}, kFloat64)) / temperature)[0].item<double>();
}

// Advanced exercise 3: how decoding amplifies a bias of the data.
Figure bias_by_temperature() {
  drawing::Series share{said("the likelier word")};
  for (const double temperature : {1.5, 1.0, 0.7, 0.5, 0.25, 0.0}) share.y.push_back(share_at(temperature));
  return {draw(drawing::BarChart{.title = said("Share of a word that has 0.7 in the data"),
                                 .labels = {"T = 1.5", "T = 1", "T = 0.7", "T = 0.5", "T = 0.25", said("greedy")},
                                 .series = {share},
                                 .width = 520})};
}

std::vector<Number> numbers_of_exercises() {
  std::string rouge = "                             ROUGE-1  ROUGE-2  ROUGE-L\n", shares;
  for (const std::string_view summary : kSummaries) {
    const metrics::Rouge scores = metrics::rouge(summary, kReference);
    rouge += fmt::format("{:<28} {:>7.3f} {:>8.3f} {:>8.3f}\n", summary, scores.rouge1.f1, scores.rouge2.f1,
                         scores.rouge_l.f1);
  }
  for (const double temperature : {1.5, 1.0, 0.7, 0.5, 0.25, 0.0})
    shares += fmt::format("T = {:<4} {:.3f}\n", temperature, share_at(temperature));
  return {own(rouge), own(shares)};
}

std::string bias_as_choice() {
  return fmt::format("{{\"start\":\"...\",\"words\":[\"A\",\"B\"],\"logits\":{}}}",
                     json_of(log(tensor({0.7, 0.3}, kFloat64))));
}

std::vector<Figure> figures_of_exercises() { return {rouge_of_summaries(), pairs_by_length(), bias_by_temperature()}; }

}  // namespace

const Computation k003_exercises{"003-exercises", numbers_of_exercises, figures_of_exercises, {bias_as_choice}};

}  // namespace tapegrad::tasks::tutorial
