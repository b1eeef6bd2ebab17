// Compares a run with its target, and says how its loss ended.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/train/outcome.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::train {
namespace {

struct Point {
  double value = 0;
  int64_t at = 0;  // steps or epochs until then
};

// Means are rounded sums: 0.995 may come out as 0.9949999999999997. Shares of less than 1e9 sequences differ by more.
bool at_least(double value, double target) { return value >= target - 1e-9; }

// With four digits after the point; with more where a value below the target would read as the target.
std::string below_text(double value, double target) {
  for (int digits = 4; digits < 17; ++digits) {
    const std::string text = fmt::format("{:.{}f}", value, digits);
    if (std::stod(text) < target) return text;
  }
  return fmt::format("{}", value);
}

const Point& lowest(const std::vector<Point>& points) { return *std::ranges::min_element(points, {}, &Point::value); }

std::vector<double> values_of(const std::vector<Point>& points) {
  std::vector<double> out;
  for (const Point& p : points) out.push_back(p.value);
  return out;
}

std::vector<Point> step_losses(const Metrics& metrics) {
  std::vector<Point> out;
  for (const StepMetrics& m : metrics.steps) out.push_back({m.loss, m.step});
  return out;
}

std::vector<Point> validation_losses(const Metrics& metrics) {
  std::vector<Point> out;
  for (const StepMetrics& m : metrics.steps)
    if (m.validation_loss) out.push_back({*m.validation_loss, m.step});
  return out;
}

std::vector<Point> epoch_losses(const Metrics& metrics) {
  std::vector<Point> out;
  for (const EpochMetrics& m : metrics.epochs) out.push_back({m.loss, m.epoch + 1});
  return out;
}

template <class... Args>
std::string say(const Words& words, std::string_view english, const Args&... args) {
  return fmt::format(fmt::runtime(in_words(words, english)), args...);
}

std::string digits_of(double loss) { return fmt::format("{:.4f}", loss); }

std::string epochs_text(const Words& words, int64_t count) {
  return say(words, count == 1 ? "{count} epoch" : "{count} epochs", fmt::arg("count", count));
}

std::string_view trend_text(Trend trend, bool validation) {
  switch (trend) {
    case Trend::falls: return validation ? "The validation loss still falls." : "The loss still falls.";
    case Trend::rises: return validation ? "The validation loss rises." : "The loss rises.";
    case Trend::flat: return validation ? "The validation loss no longer falls." : "The loss no longer falls.";
    case Trend::unknown: break;
  }
  return "There are too few steps to say whether the loss still falls.";
}

std::string trend_text(const Metrics& metrics, const Words& words) {
  Trend trend = trend_of(values_of(validation_losses(metrics)));
  const bool validation = trend != Trend::unknown;
  if (!validation) trend = trend_of(values_of(step_losses(metrics)));
  return std::string(in_words(words, trend_text(trend, validation)));
}

// The last and the lowest of the losses that say most.
std::string loss_text(const Metrics& metrics, const Words& words) {
  if (metrics.steps.empty()) return std::string(in_words(words, "No step was taken."));
  const std::vector<Point> evaluated = validation_losses(metrics), epochs = epoch_losses(metrics);
  const std::vector<Point> found = !evaluated.empty() ? evaluated : !epochs.empty() ? epochs : step_losses(metrics);
  const Point &last = found.back(), &best = lowest(found);
  const bool is_lowest = best.value == last.value;
  const auto value = digits_of(last.value), least = digits_of(best.value);
  if (evaluated.empty() && !epochs.empty())
    return say(words,
               is_lowest ? "Loss {value} after {epochs}, the lowest."
                         : "Loss {value} after {epochs}, lowest {best} after {at}.",
               fmt::arg("value", value), fmt::arg("epochs", epochs_text(words, last.at)), fmt::arg("best", least),
               fmt::arg("at", best.at));
  const std::string_view lowest_text = evaluated.empty() ? "Loss {value} in step {step}, the lowest."
                                                         : "Validation loss {value} after step {step}, the lowest.";
  const std::string_view other_text = evaluated.empty()
                                          ? "Loss {value} in step {step}, lowest {best} in step {at}."
                                          : "Validation loss {value} after step {step}, lowest {best} after step {at}.";
  return say(words, is_lowest ? lowest_text : other_text, fmt::arg("value", value), fmt::arg("step", last.at),
             fmt::arg("best", least), fmt::arg("at", best.at));
}

// Epochs whose accuracy was measured.
std::vector<Point> accuracies(const Metrics& metrics) {
  std::vector<Point> out;
  for (const EpochMetrics& m : metrics.epochs)
    if (!std::isnan(m.accuracy)) out.push_back({m.accuracy, m.epoch + 1});
  return out;
}

}  // namespace

Trend trend_of(const std::vector<double>& losses) {
  std::vector<double> y;
  std::copy_if(losses.begin() + static_cast<std::ptrdiff_t>(losses.size() / 2), losses.end(), std::back_inserter(y),
               [](double value) { return std::isfinite(value); });
  constexpr std::size_t kLeast = 4;
  if (y.size() < kLeast) return Trend::unknown;
  const auto n = static_cast<double>(y.size());
  double mean = 0, xx = 0, xy = 0, rest = 0;
  for (const double value : y) mean += value / n;
  const auto x = [n](std::size_t i) { return static_cast<double>(i) - (n - 1) / 2; };
  for (std::size_t i = 0; i < y.size(); ++i) xx += x(i) * x(i), xy += x(i) * (y[i] - mean);
  const double slope = xy / xx;
  for (std::size_t i = 0; i < y.size(); ++i) rest += fixed::pow(y[i] - mean - slope * x(i), 2);
  const double error = std::sqrt(rest / (n - 2) / xx);
  const bool flat = std::abs(slope) * (n - 1) < 0.01 * std::abs(mean) || std::abs(slope) < 2 * error || slope == 0;
  return flat ? Trend::flat : slope < 0 ? Trend::falls : Trend::rises;
}

Outcome outcome_of(const Metrics& metrics, const std::optional<Target>& target, const Words& words) {
  using enum Outcome::Verdict;
  const std::string loss = loss_text(metrics, words);
  if (!target) return {none, metrics.steps.empty() ? loss : loss + " " + trend_text(metrics, words)};
  const double least = target->least;
  const std::string_view its_name = in_words(words, target->name);
  const auto name = fmt::arg("name", its_name);
  const auto wanted = fmt::arg("target", least);
  const std::vector<Point> found = accuracies(metrics);
  if (found.empty())
    return {none, say(words, "The target, {name} {target}, was not measured: no epoch ended with it.", name, wanted) +
                      " " + loss};
  const double last = found.back().value;
  const std::string epochs = epochs_text(words, found.back().at);
  const auto after = fmt::arg("epochs", epochs);
  const auto first = std::ranges::find_if(found, [&](const Point& p) { return at_least(p.value, least); });
  if (at_least(last, least))
    return {reached, say(words,
                         "Target reached: {name} {value} in the last epoch (target {target}), first reached after "
                         "{first} of {epochs}.",
                         name, fmt::arg("value", digits_of(last)), wanted, fmt::arg("first", first->at), after)};
  const std::string below = below_text(last, least);
  const auto value = fmt::arg("value", below);
  if (first != found.end())
    return {missed, say(words,
                        "Target reached after {first} of {epochs}, but not held: {name} {value} of {target} in the "
                        "last epoch.",
                        fmt::arg("first", first->at), after, name, value, wanted)};
  const Point& best = *std::ranges::max_element(found, {}, &Point::value);
  return {missed,
          say(words,
              best.value > last
                  ? "Target not reached: {name} {value} of {target} after {epochs}, at best {best} after {at}."
                  : "Target not reached: {name} {value} of {target} after {epochs}.",
              name, value, wanted, after, fmt::arg("best", below_text(best.value, least)), fmt::arg("at", best.at)) +
              " " + trend_text(metrics, words)};
}

}  // namespace tapegrad::train
