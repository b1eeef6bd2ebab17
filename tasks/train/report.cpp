// Composes the page of a run.
#include <fmt/format.h>
#include <tapegrad/tasks/drawing/charts.h>
#include <tapegrad/tasks/drawing/page.h>
#include <tapegrad/tasks/drawing/tables.h>
#include <tapegrad/tasks/train/report.h>
#include <tapegrad/version.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::train {
namespace {

using drawing::escape_markup;
using drawing::grouped;
using drawing::LineChart;
using drawing::Series;

std::string in(const ReportText& text, std::string_view english) { return std::string(in_words(text.words, english)); }

void fact(std::string& out, std::string_view value, std::string_view name) {
  out += fmt::format("<div class=\"fact\"><b>{}</b><span>{}</span></div>\n", escape_markup(value), escape_markup(name));
}

void add(Series& series, double x, double y) {
  series.x.push_back(x);
  series.y.push_back(y);
}

// Single steps, with the means of epochs over them where there are several.
std::vector<Series> curve(const ReportText& text, const Metrics& metrics, int64_t steps_per_epoch,
                          double StepMetrics::*of_step, double EpochMetrics::*of_epoch) {
  Series steps{in(text, "single steps"), {}, {}, false}, epochs{in(text, "mean of the epoch"), {}, {}, false};
  for (const StepMetrics& m : metrics.steps) add(steps, static_cast<double>(m.step), m.*of_step);
  for (const EpochMetrics& m : metrics.epochs)
    add(epochs, (static_cast<double>(m.epoch) + 0.5) * static_cast<double>(steps_per_epoch), m.*of_epoch);
  steps.faint = metrics.epochs.size() > 1;
  return steps.faint ? std::vector<Series>{steps, epochs} : std::vector<Series>{steps};
}

// Where steps were evaluated, those losses over the single steps.
std::vector<Series> losses(const ReportText& text, const Metrics& metrics, int64_t steps_per_epoch) {
  Series training{in(text, "training split"), {}, {}, false}, validation{in(text, "validation split"), {}, {}, false};
  for (const StepMetrics& m : metrics.steps) {
    if (m.train_loss) add(training, static_cast<double>(m.step), *m.train_loss);
    if (m.validation_loss) add(validation, static_cast<double>(m.step), *m.validation_loss);
  }
  std::vector<Series> all = curve(text, metrics, steps_per_epoch, &StepMetrics::loss, &EpochMetrics::loss);
  if (validation.y.empty()) return all;
  all.resize(1);
  all[0].faint = true;
  if (!training.y.empty()) all.push_back(training);
  all.push_back(validation);
  return all;
}

Series series_of(const Metrics& metrics, std::string_view name) {
  Series series{std::string(name), {}, {}, false};
  for (const StepMetrics& m : metrics.steps)
    for (const Figure& figure : m.figures)
      if (figure.name == name && std::isfinite(figure.value)) add(series, static_cast<double>(m.step), figure.value);
  return series;
}

// The names of the figures of all steps, in the order in which they appear.
std::vector<std::string> figures_of(const Metrics& metrics) {
  std::vector<std::string> names;
  for (const StepMetrics& m : metrics.steps)
    for (const Figure& figure : m.figures)
      if (std::find(names.begin(), names.end(), figure.name) == names.end()) names.push_back(figure.name);
  return names;
}

// The first thing that its reader asks.
void tell_outcome(std::string& out, const ReportText& text, const Metrics& metrics) {
  const Outcome found = outcome_of(metrics, text.target, text.words);
  const bool told = found.verdict != Outcome::Verdict::none;
  const std::string_view style = !told ? "" : found.verdict == Outcome::Verdict::reached ? " good" : " wrong";
  out += fmt::format("<p class=\"outcome{}\">{}</p>\n", style, escape_markup(found.text));
}

void facts(std::string& out, const ReportText& text, const Metrics& metrics, int64_t parameters) {
  out += "<div class=\"facts\">\n";
  fact(out, grouped(metrics.steps.empty() ? 0 : metrics.steps.back().step), in(text, "steps"));
  fact(out, grouped(parameters), in(text, "parameters"));
  const auto evaluated = std::find_if(metrics.steps.rbegin(), metrics.steps.rend(),
                                      [](const StepMetrics& m) { return m.validation_loss.has_value(); });
  if (evaluated != metrics.steps.rend()) {
    if (evaluated->train_loss) fact(out, fmt::format("{:.4f}", *evaluated->train_loss), in(text, "training loss"));
    fact(out, fmt::format("{:.4f}", *evaluated->validation_loss), in(text, "validation loss"));
  } else if (!metrics.epochs.empty()) {
    fact(out, fmt::format("{:.4f}", metrics.epochs.back().loss), in(text, "loss, last epoch"));
  }
  if (!metrics.epochs.empty() && !std::isnan(metrics.epochs.back().accuracy))
    fact(out, fmt::format("{:.2f} %", 100 * metrics.epochs.back().accuracy), in(text, "accuracy, last epoch"));
  std::vector<double> speeds;
  for (const StepMetrics& m : metrics.steps) speeds.push_back(m.tokens_per_s);
  const auto middle = speeds.begin() + static_cast<std::ptrdiff_t>(speeds.size() / 2);
  std::nth_element(speeds.begin(), middle, speeds.end());
  if (!speeds.empty() && *middle > 0)
    fact(out, grouped(static_cast<int64_t>(*middle)),
         fmt::format(fmt::runtime(in(text, "{unit} per second (median)")), fmt::arg("unit", in(text, text.unit))));
  if (!metrics.bits.empty()) fact(out, metrics.bits, in(text, "fingerprint (same fingerprint = same model)"));
  out += "</div>\n";
}

void curves(std::string& out, const ReportText& text, const Metrics& metrics, int64_t steps_per_epoch) {
  constexpr double kWidth = 380;  // two in a row of a wide screen; one on a phone, without scrolling
  out += fmt::format("<h2>{}</h2>\n<div class=\"maps\">\n", escape_markup(in(text, "Curves")));
  const std::string step = in(text, "step");
  drawing::card(out, draw(LineChart{.title = text.loss,
                                    .x_label = step,
                                    .y_label = in(text, "loss"),
                                    .series = losses(text, metrics, steps_per_epoch),
                                    .log_y = text.log_loss,
                                    .width = kWidth}));
  if (!metrics.steps.empty() && !std::isnan(metrics.steps.front().accuracy)) {
    drawing::card(
        out,
        draw(LineChart{.title = text.accuracy,
                       .x_label = step,
                       .y_label = in(text, "accuracy"),
                       .series = curve(text, metrics, steps_per_epoch, &StepMetrics::accuracy, &EpochMetrics::accuracy),
                       .y_high = 1,
                       .width = kWidth}));
  }
  for (const std::string& figure : figures_of(metrics))
    drawing::card(out, draw(LineChart{.title = figure,
                                      .x_label = step,
                                      .y_label = figure,
                                      .series = {series_of(metrics, figure)},
                                      .width = kWidth}));
  Series rate{in(text, "learning rate"), {}, {}, false};
  for (const StepMetrics& m : metrics.steps) add(rate, static_cast<double>(m.step), m.lr);
  const double highest = rate.y.empty() ? 0 : *std::max_element(rate.y.begin(), rate.y.end());
  drawing::card(out, draw(LineChart{.title = text.rate,
                                    .x_label = step,
                                    .y_label = in(text, "rate"),
                                    .series = {rate},
                                    .y_high = 1.25 * highest,
                                    .width = kWidth}));
  out += "</div>\n";
}

}  // namespace

std::string report_html(const ReportText& text, const Metrics& metrics, int64_t steps_per_epoch, int64_t parameters) {
  std::string body = fmt::format("<h1>{}</h1>\n", escape_markup(text.title));
  tell_outcome(body, text, metrics);
  const std::string by =
      fmt::format(fmt::runtime(in(text, "Trained by tapegrad {version}.")), fmt::arg("version", kVersion));
  body += fmt::format("<p>{}{}{}</p>\n", escape_markup(text.about), text.about.empty() ? "" : " ", by);
  facts(body, text, metrics, parameters);
  curves(body, text, metrics, steps_per_epoch);
  if (text.sections) body += text.sections(metrics);
  if (!text.settings.empty()) {
    body += fmt::format("<h2>{}</h2>\n<div class=\"card\"><table>\n", escape_markup(in(text, "Settings")));
    for (const ReportText::Setting& s : text.settings)
      body += fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td></tr>\n", escape_markup(s.name), escape_markup(s.value),
                          escape_markup(s.help));
    body += "</table></div>\n";
  }
  return drawing::page(fmt::format("tapegrad: {}", text.title), body, {.language = text.language});
}

}  // namespace tapegrad::train
