// Whether a run reached its target: the first line of its report.
#pragma once

#include <tapegrad/train/metrics.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::train {

/// The words of a report, which are English, in another language: headings, and sentences with {names} for numbers.
/// What it returns must live as long as the program, as literals do.
using Words = std::function<std::string_view(std::string_view english)>;

/// The text in the language of `words`; as it is where there are none.
inline std::string_view in_words(const Words& words, std::string_view english) {
  return words ? words(english) : english;
}

/// The target of a run.
struct Target {
  std::string name = "accuracy";  ///< of the figure, as the report calls it
  double least = 0;               ///< accuracy of an epoch (EpochMetrics::accuracy)
};

/// The result of a run.
struct Outcome {
  enum class Verdict { reached, missed, none };  ///< none: there is no target, or no epoch to compare it with
  Verdict verdict = Verdict::none;               ///< of the last epoch, against the target
  std::string text;                              ///< one to three sentences
};

/// With a target: the accuracy of the last epoch, and after how many epochs the target was first reached, or the best
/// epoch. Without: the last and the lowest loss, of the validation split if it was evaluated, and whether the loss
/// still falls. A target that was reached in an earlier epoch only is missed.
Outcome outcome_of(const Metrics& metrics, const std::optional<Target>& target, const Words& words = {});

/// Where a series of losses goes.
enum class Trend { unknown, falls, rises, flat };
/// From the least-squares line through the second half of the series, without values that are not finite: flat if the
/// line changes by less than 1 % of the mean, or less than twice its standard error; unknown for fewer than 4 values.
Trend trend_of(const std::vector<double>& losses);

}  // namespace tapegrad::train
