// Compares a run with its target, and says how its loss ended.
#include <fmt/format.h>
#include <tapegrad/tasks/train/outcome.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::train {
namespace {

struct Point {
  double value = 0;
  int64_t at = 0;  // steps or epochs until then
};

// With four digits after the point; with more where a value below the target would read as the target.
std::string below_text(double value, double target) {
  for (int digits = 4; digits < 17; ++digits) {
    const std::string text = fmt::format("{:.{}f}", value, digits);
    if (std::stod(text) < target) return text;
  }
  return fmt::format("{}", value);
}

const Point& lowest(const std::vector<Point>& points) {
  return *std::min_element(points.begin(), points.end(),
                           [](const Point& a, const Point& b) { return a.value < b.value; });
}

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

std::string trend_text(const Metrics& metrics) {
  Trend trend = trend_of(values_of(validation_losses(metrics)));
  const bool validation = trend != Trend::unknown;
  if (!validation) trend = trend_of(values_of(step_losses(metrics)));
  switch (trend) {
    case Trend::falls: return validation ? " The validation loss still falls." : " The loss still falls.";
    case Trend::rises: return validation ? " The validation loss rises." : " The loss rises.";
    case Trend::flat: return validation ? " The validation loss no longer falls." : " The loss no longer falls.";
    case Trend::unknown: break;
  }
  return " There are too few steps to say whether the loss still falls.";
}

// The last and the lowest of the losses that say most.
std::string loss_text(const Metrics& metrics) {
  if (metrics.steps.empty()) return "No step was taken.";
  if (const std::vector<Point> found = validation_losses(metrics); !found.empty()) {
    const Point &last = found.back(), &best = lowest(found);
    return best.at == last.at ? fmt::format("Validation loss {:.4f} after step {} of {}, the lowest.", last.value,
                                            last.at, metrics.steps.back().step)
                              : fmt::format("Validation loss {:.4f} after step {} of {}, lowest {:.4f} after step {}.",
                                            last.value, last.at, metrics.steps.back().step, best.value, best.at);
  }
  if (const std::vector<Point> found = epoch_losses(metrics); !found.empty()) {
    const Point &last = found.back(), &best = lowest(found);
    return best.at == last.at ? fmt::format("Loss {:.4f} in epoch {} of {}, the lowest.", last.value, last.at, last.at)
                              : fmt::format("Loss {:.4f} in epoch {} of {}, lowest {:.4f} in epoch {}.", last.value,
                                            last.at, last.at, best.value, best.at);
  }
  const std::vector<Point> found = step_losses(metrics);
  const Point &last = found.back(), &best = lowest(found);
  return best.at == last.at ? fmt::format("Loss {:.4f} in step {}, the lowest.", last.value, last.at)
                            : fmt::format("Loss {:.4f} in step {}, lowest {:.4f} in step {}.", last.value, last.at,
                                          best.value, best.at);
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
  for (std::size_t i = 0; i < y.size(); ++i) rest += std::pow(y[i] - mean - slope * x(i), 2);
  const double error = std::sqrt(rest / (n - 2) / xx);
  const bool flat = std::abs(slope) * (n - 1) < 0.01 * std::abs(mean) || std::abs(slope) < 2 * error || slope == 0;
  return flat ? Trend::flat : slope < 0 ? Trend::falls : Trend::rises;
}

Outcome outcome_of(const Metrics& metrics, const std::optional<Target>& target) {
  using enum Outcome::Verdict;
  if (!target) return {none, loss_text(metrics) + (metrics.steps.empty() ? "" : trend_text(metrics))};
  const std::vector<Point> found = accuracies(metrics);
  if (found.empty())
    return {none, fmt::format("The target, {} {}, was not measured: no epoch ended with it. {}", target->name,
                              target->least, loss_text(metrics))};
  const double last = found.back().value;
  const int64_t epochs = found.back().at;
  const auto first = std::find_if(found.begin(), found.end(), [&](const Point& p) { return p.value >= target->least; });
  if (last >= target->least)
    return {reached,
            fmt::format("Target reached: {} {:.4f} in the last epoch (target {}), first reached after {} of {} "
                        "epochs.",
                        target->name, last, target->least, first->at, epochs)};
  if (first != found.end())
    return {missed, fmt::format("Target reached after {} of {} epochs, but not held: {} {} of {} in the last epoch.",
                                first->at, epochs, target->name, below_text(last, target->least), target->least)};
  const Point& best =
      *std::max_element(found.begin(), found.end(), [](const Point& a, const Point& b) { return a.value < b.value; });
  return {missed, fmt::format("Target not reached: {} {} of {} after {} epoch{}{}.{}", target->name,
                              below_text(last, target->least), target->least, epochs, epochs == 1 ? "" : "s",
                              best.value > last
                                  ? fmt::format(", at best {} after {}", below_text(best.value, target->least), best.at)
                                  : "",
                              trend_text(metrics))};
}

}  // namespace tapegrad::train
