// Composes the page of a run.
#include <fmt/format.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/train/drawing/page.h>
#include <tapegrad/train/drawing/tables.h>
#include <tapegrad/train/report.h>
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

// Single steps, with the means of epochs over them where there are several.
std::vector<Series> curve(const ReportText& text, const Metrics& metrics, int64_t steps_per_epoch,
                          double StepMetrics::*of_step, double EpochMetrics::*of_epoch) {
  Series steps{in(text, "single steps"), {}, {}, false}, epochs{in(text, "mean of the epoch"), {}, {}, false};
  for (const StepMetrics& m : metrics.steps) steps.add(static_cast<double>(m.step), m.*of_step);
  for (const EpochMetrics& m : metrics.epochs)
    epochs.add((static_cast<double>(m.epoch) + 0.5) * static_cast<double>(steps_per_epoch), m.*of_epoch);
  steps.faint = metrics.epochs.size() > 1;
  return steps.faint ? std::vector<Series>{steps, epochs} : std::vector<Series>{steps};
}

// Where steps were evaluated, those losses over the single steps.
std::vector<Series> losses(const ReportText& text, const Metrics& metrics, int64_t steps_per_epoch) {
  Series training{in(text, "training split"), {}, {}, false}, validation{in(text, "validation split"), {}, {}, false};
  for (const StepMetrics& m : metrics.steps) {
    if (m.train_loss) training.add(static_cast<double>(m.step), *m.train_loss);
    if (m.validation_loss) validation.add(static_cast<double>(m.step), *m.validation_loss);
  }
  std::vector<Series> all = curve(text, metrics, steps_per_epoch, &StepMetrics::loss, &EpochMetrics::loss);
  if (validation.y.empty()) return all;
  all.resize(1);
  all[0].faint = true;
  if (!training.y.empty()) all.push_back(training);
  all.push_back(validation);
  return all;
}

Series series_of(const Metrics& metrics, const std::string& figure) {
  Series series{.name = figure};
  for (const StepMetrics& m : metrics.steps)
    if (const double value = m.figure(figure); std::isfinite(value)) series.add(static_cast<double>(m.step), value);
  return series;
}

// The first thing that its reader asks.
void tell_outcome(std::string& out, const ReportText& text, const Metrics& metrics) {
  const Outcome found = outcome_of(metrics, text.target, text.words);
  const bool told = found.verdict != Outcome::Verdict::none;
  const std::string_view style = !told ? "" : found.verdict == Outcome::Verdict::reached ? " good" : " wrong";
  out += fmt::format("<p class=\"outcome{}\">{}</p>\n", style, escape_markup(found.text));
}

// 0 where it changes.
double constant_rate(const Metrics& metrics) {
  const auto same = [&](const StepMetrics& m) { return m.lr == metrics.steps.front().lr; };
  return !metrics.steps.empty() && std::ranges::all_of(metrics.steps, same) ? metrics.steps.front().lr : 0;
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
    fact(out, fmt::format("{:.4f}", metrics.epochs.back().accuracy), in(text, "accuracy, last epoch"));
  if (const double rate = constant_rate(metrics); rate > 0) fact(out, fmt::format("{:g}", rate), text.rate);
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

// The other run's epochs that this run has, too.
void add_others(LineChart& chart, const ReportText& text, const Metrics& metrics, int64_t steps_per_epoch,
                double ReportText::OtherEpoch::*of_epoch) {
  Series others{.name = text.others_name, .mark = Series::Mark::dots};
  for (const ReportText::OtherEpoch& one : text.others)
    if (one.epoch < std::ssize(metrics.epochs))
      others.add((static_cast<double>(one.epoch) + 0.5) * static_cast<double>(steps_per_epoch), one.*of_epoch);
  if (!others.y.empty()) chart.series.push_back(std::move(others));
}

LineChart loss_chart(const ReportText& text, const Metrics& metrics, int64_t steps_per_epoch) {
  LineChart chart{.title = text.loss,
                  .y_label = in(text, "loss"),
                  .series = losses(text, metrics, steps_per_epoch),
                  .log_if_low = true};
  add_others(chart, text, metrics, steps_per_epoch, &ReportText::OtherEpoch::loss);
  if (text.guess > 0)
    chart.references.push_back({text.guess, fmt::format("{} {:.3g}", in(text, "guessing"), text.guess)});
  const StepMetrics *best = nullptr, *last = nullptr;
  for (const StepMetrics& m : metrics.steps) {
    if (!m.validation_loss) continue;
    last = &m;
    if (best == nullptr || *m.validation_loss < *best->validation_loss) best = &m;
  }
  if (best != last) chart.references.push_back({static_cast<double>(best->step), in(text, "best step"), true});
  return chart;
}

LineChart accuracy_chart(const ReportText& text, const Metrics& metrics, int64_t steps_per_epoch) {
  LineChart chart{.title = text.accuracy,
                  .y_label = in(text, "accuracy"),
                  .series = curve(text, metrics, steps_per_epoch, &StepMetrics::accuracy, &EpochMetrics::accuracy),
                  .y_high = 1};
  add_others(chart, text, metrics, steps_per_epoch, &ReportText::OtherEpoch::accuracy);
  if (text.target)
    chart.references.push_back({text.target->least, fmt::format("{} {:g}", in(text, "target"), text.target->least)});
  double highest = 0;
  for (const StepMetrics& m : metrics.steps) highest = std::max(highest, m.accuracy);
  if (!text.target && highest > 0 && highest < 0.5) chart.y_high = 1.1 * highest;
  return chart;
}

void curves(std::string& out, const ReportText& text, const Metrics& metrics, int64_t steps_per_epoch) {
  std::vector<LineChart> charts{loss_chart(text, metrics, steps_per_epoch)};
  if (!metrics.steps.empty() && !std::isnan(metrics.steps.front().accuracy))
    charts.push_back(accuracy_chart(text, metrics, steps_per_epoch));
  std::vector<std::string> figures;
  metrics.add_figure_names(figures);
  for (const std::string& figure : figures)
    charts.push_back({.title = figure, .y_label = figure, .series = {series_of(metrics, figure)}, .log_if_low = true});
  if (constant_rate(metrics) == 0) {
    Series rate{in(text, "learning rate"), {}, {}, false};
    for (const StepMetrics& m : metrics.steps) rate.add(static_cast<double>(m.step), m.lr);
    const double highest = rate.y.empty() ? 0 : *std::ranges::max_element(rate.y);
    charts.push_back({.title = text.rate, .y_label = in(text, "rate"), .series = {rate}, .y_high = 1.25 * highest});
  }
  const bool thirds = charts.size() % 3 == 0;  // of the row of a wide screen; on a phone, one in a row
  out +=
      fmt::format("<h2>{}</h2>\n<div class=\"{}maps\">\n", escape_markup(in(text, "Curves")), thirds ? "thirds " : "");
  for (LineChart& chart : charts) {
    chart.x_label = in(text, "step");
    chart.width = thirds ? 230 : 380;
    drawing::card(out, draw(chart));
  }
  out += "</div>\n";
}

std::string made_text(const ReportText& text) {
  const ReportText::Made& made = text.made;
  if (made.date.empty())
    return fmt::format(fmt::runtime(in(text, "Trained by tapegrad {version}.")), fmt::arg("version", kVersion));
  const std::string time =
      fmt::format("{}:{:02}:{:02}", made.seconds / 3600, made.seconds / 60 % 60, made.seconds % 60);
  return fmt::format(
      fmt::runtime(in(text, made.resumed
                                ? "Trained by tapegrad {version} until {date}, after it was resumed in {time} hours."
                                : "Trained by tapegrad {version} on {date} in {time} hours.")),
      fmt::arg("version", kVersion), fmt::arg("date", made.date), fmt::arg("time", time));
}

void settings_table(std::string& out, const std::vector<ReportText::Setting>& settings, bool are_defaults) {
  out += "<div class=\"card\"><table class=\"settings\">\n";
  for (const ReportText::Setting& s : settings)
    if (s.is_default == are_defaults)
      out += fmt::format("<tr><th>{}</th><td{}>{}</td>{}</tr>\n", escape_markup(s.name),
                         s.help.empty() ? " colspan=\"2\"" : "", escape_markup(s.value),
                         s.help.empty() ? "" : fmt::format("<td>{}</td>", escape_markup(s.help)));
  out += "</table></div>\n";
}

void settings(std::string& out, const ReportText& text) {
  std::vector<ReportText::Setting> all = text.settings;
  if (!text.made.machine.empty()) {
    all.insert(all.begin(),
               {{in(text, "command"), text.made.command, {}}, {in(text, "machine"), text.made.machine, {}}});
  }
  if (all.empty()) return;
  out += fmt::format("<h2>{}</h2>\n", escape_markup(in(text, "Settings")));
  settings_table(out, all, false);
  if (std::ranges::none_of(all, [](const auto& s) { return s.is_default; })) return;
  out += fmt::format("<details><summary>{}</summary>\n", escape_markup(in(text, "Settings that have their defaults")));
  settings_table(out, all, true);
  out += "</details>\n";
}

}  // namespace

std::string report_html(const ReportText& text, const Metrics& metrics, int64_t steps_per_epoch, int64_t parameters) {
  std::string body = fmt::format("<h1>{}</h1>\n", escape_markup(text.title));
  tell_outcome(body, text, metrics);
  body += fmt::format("<p>{}{}{}</p>\n", escape_markup(text.about), text.about.empty() ? "" : " ", made_text(text));
  facts(body, text, metrics, parameters);
  curves(body, text, metrics, steps_per_epoch);
  if (text.sections) body += text.sections(metrics);
  settings(body, text);
  return drawing::page(fmt::format("tapegrad: {}", text.title), body, {.language = text.language});
}

}  // namespace tapegrad::train
