// Reads runs, draws their curves, and prints where they ended.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/tasks/plot/plot.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/settings/nearest.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/tasks/settings/verb_options.h>
#include <tapegrad/train/drawing/page.h>
#include <tapegrad/train/drawing/tables.h>
#include <tapegrad/train/files.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

namespace tapegrad::tasks {

namespace fs = std::filesystem;
namespace {

using drawing::LineChart;
using drawing::Series;
using train::StepMetrics;

constexpr std::string_view kPlot = "plot";

// --- finding runs ---

bool is_run(const fs::path& folder) { return is_there((folder / train::kMetricsFile).string()); }

// The folders in `parent` that are runs, as a reader would type them.
std::vector<std::string> runs_in(const fs::path& parent) {
  std::vector<std::string> found;
  std::error_code none;  // a folder that cannot be read has no runs to suggest
  for (const auto& entry : fs::directory_iterator(parent.empty() ? fs::path(".") : parent, none))
    if (entry.is_directory(none) && is_run(entry.path())) found.push_back((parent / entry.path().filename()).string());
  std::ranges::sort(found);
  return found;
}

std::string suggestion(const std::string& missing, const std::vector<std::string>& known) {
  const std::string near = did_you_mean(missing, known);
  if (!near.empty() || known.empty()) return near;
  constexpr std::size_t kMost = 8;
  const std::size_t shown = std::min(kMost, known.size());
  const std::vector<std::string> some(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(shown));
  return fmt::format(" (runs there: {}{})", listed(some, "and"), shown < known.size() ? " and others" : "");
}

// "out/copy/" -> "out/copy".
std::string without_slash(std::string name) {
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  return name;
}

fs::path metrics_of(const std::string& name) {
  const FileKind kind = as_bad_request(kPlot, [&] { return kind_of_file(name); });
  if (kind == FileKind::none)
    bad_request(kPlot, "there is no run {}{}", name, suggestion(name, runs_in(fs::path(name).parent_path())));
  if (kind == FileKind::file) return name;
  require(kind == FileKind::folder, kPlot, "expected the folder of a run, got the device or pipe {}", name);
  if (!is_run(name))
    bad_request(kPlot, "{} has no {}, so it is not the folder of a run{}", name, train::kMetricsFile,
                suggestion(name, runs_in(name)));
  return fs::path(name) / train::kMetricsFile;
}

std::vector<NamedRun> read_runs(const PlotRequest& request) {
  if (request.runs.empty())
    bad_request(kPlot, "expected the folder of a run, or several, got none{}", suggestion("", runs_in("out")));
  std::set<fs::path> seen;
  std::vector<std::pair<std::string, fs::path>> files;  // all names are checked before a file is read
  for (const std::string& given : request.runs) {
    const std::string name = without_slash(given);
    files.emplace_back(name, metrics_of(name));
    require(seen.insert(fs::weakly_canonical(files.back().second)).second, kPlot, "the run {} was named twice", name);
  }
  std::vector<NamedRun> runs;
  for (const auto& [name, file] : files) {
    runs.push_back({name, train::read_metrics(file)});
    auto& steps = runs.back().metrics.steps;
    if (steps.empty()) fail(kPlot, "{} has no step yet", file.string());
    const int64_t last = steps.back().step;
    std::erase_if(steps, [&](const StepMetrics& m) { return m.step < request.first_step; });
    require(!steps.empty(), "--first-step", "{} has steps up to {}, got {}", name, last, request.first_step);
  }
  return runs;
}

// --- curves ---

template <class Value>
Series curve_of(const NamedRun& run, double keep, const Value& value) {
  Series out{.name = run.name};
  for (const StepMetrics& m : run.metrics.steps) {
    const double y = value(m);
    if (!std::isfinite(y)) continue;
    out.add(static_cast<double>(m.step), y);
  }
  out.y = smoothed(out.y, keep);
  return out;
}

// Adds the chart of a quantity, unless no run has it. A run without it keeps its place, so that the colour of a run is
// the same in all charts.
template <class Value>
void add_chart(std::vector<LineChart>& charts, std::span<const NamedRun> runs, double keep, LineChart chart,
               const Value& value) {
  bool any = false;
  for (const NamedRun& run : runs) {
    chart.series.push_back(curve_of(run, keep, value));
    any = any || !chart.series.back().y.empty();
  }
  chart.x_label = "step";
  chart.width = 640;
  if (any) charts.push_back(std::move(chart));
}

std::vector<LineChart> chosen(std::vector<LineChart> charts, const std::string& only) {
  std::vector<std::string> titles;
  for (const LineChart& chart : charts) titles.push_back(chart.title);
  std::erase_if(charts, [&](const LineChart& chart) { return chart.title.find(only) == std::string::npos; });
  require(!charts.empty(), "--only", "expected a part of {}, got \"{}\"", listed(titles, "or"), only);
  return charts;
}

// --- where the runs ended ---

struct End {
  int64_t steps = 0;
  double loss = 0, accuracy = 0;            // smoothed, of the last step
  double validation = train::kNotMeasured;  // the lowest
  int64_t validation_step = 0;              // where it was
  double per_second = train::kNotMeasured;  // the median
};

double last_of(const NamedRun& run, double keep, double StepMetrics::*member) {
  const Series curve = curve_of(run, keep, [&](const StepMetrics& m) { return m.*member; });
  return curve.y.empty() ? train::kNotMeasured : curve.y.back();
}

End end_of(const NamedRun& run, double keep) {
  End end{.steps = run.metrics.steps.back().step,
          .loss = last_of(run, keep, &StepMetrics::loss),
          .accuracy = last_of(run, keep, &StepMetrics::accuracy)};
  std::vector<double> speeds;
  for (const StepMetrics& m : run.metrics.steps) {
    if (std::isfinite(m.tokens_per_s) && m.tokens_per_s > 0) speeds.push_back(m.tokens_per_s);
    const double loss = m.validation_loss.value_or(train::kNotMeasured);
    if (std::isfinite(loss) && !(end.validation <= loss)) end.validation = loss, end.validation_step = m.step;
  }
  const auto middle = speeds.begin() + static_cast<std::ptrdiff_t>(speeds.size() / 2);
  std::nth_element(speeds.begin(), middle, speeds.end());
  if (!speeds.empty()) end.per_second = *middle;
  return end;
}

std::string figure_text(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "-";
}

// Names come last: they may be long.
std::string table_of(std::span<const NamedRun> runs, double keep) {
  std::string out = fmt::format("{:>7} {:>9} {:>8} {:>10} {:>7} {:>10}  {}\n", "steps", "loss", "accuracy",
                                "validation", "at step", "per second", "run");
  for (const NamedRun& run : runs) {
    const End end = end_of(run, keep);
    out += fmt::format("{:>7} {:>9} {:>8} {:>10} {:>7} {:>10}  {}\n", end.steps, figure_text(end.loss, 4),
                       figure_text(end.accuracy, 4), figure_text(end.validation, 4),
                       end.validation_step > 0 ? std::to_string(end.validation_step) : "-",
                       figure_text(end.per_second, 0), run.name);
  }
  return out;
}

std::string json_of(std::span<const NamedRun> runs, double keep, const std::string& svg, const std::string& html) {
  const auto value = [](double x) { return std::isfinite(x) ? Json(x) : Json(); };
  Json rows = Json::array();
  for (const NamedRun& run : runs) {
    const End end = end_of(run, keep);
    rows.push_back({{"run", run.name},
                    {"steps", end.steps},
                    {"loss", value(end.loss)},
                    {"accuracy", value(end.accuracy)},
                    {"validation_loss", value(end.validation)},
                    {"validation_step", nullptr},
                    {"per_second", value(end.per_second)},
                    {"bits", nullptr}});
    if (end.validation_step > 0) rows.back()["validation_step"] = end.validation_step;
    if (!run.metrics.bits.empty()) rows.back()["bits"] = run.metrics.bits;
  }
  const Json all{{"runs", rows}, {"pictures", {svg, html}}};
  return all.dump(-1, false, Json::BadUtf8::replace) + "\n";
}

std::string page_of(std::span<const NamedRun> runs, const std::vector<drawing::Drawing>& drawings, double keep) {
  std::string body = "<h1>Runs</h1>\n";
  if (keep > 0) body += fmt::format("<p>Exponential means that keep {} of the mean so far at each step.</p>\n", keep);
  for (const drawing::Drawing& drawing : drawings) drawing::card(body, drawing);
  body += fmt::format("<h2>Ends</h2>\n<div class=\"card\"><pre>{}</pre></div>\n",
                      drawing::escape_markup(table_of(runs, keep)));
  return drawing::page("tapegrad: runs", body);
}

}  // namespace

void PlotRequest::list(Fields& f) {
  Options add(f);
  add("runs", "the folders of runs, or their metrics.jsonl files", runs).type("RUN...").positional();
  add("out", "folder for plot.svg and plot.html", out).type("DIR");
  add("smooth", "how much of the exponential mean so far each step keeps, as 0.95", smooth, kProbability)
      .special("0: no smoothing");
  add("first-step", "leave out earlier steps", first_step, {.least = 1});
  add("log-loss", "logarithmic axes of losses", log_loss);
  add("only", "only the charts whose title contains this, as Loss", only).type("TEXT");
  add("quiet", "write the plots, and print no table", quiet);
  add_json(f, json);
}

std::vector<double> smoothed(std::span<const double> y, double keep) {
  std::vector<double> out(y.begin(), y.end());
  double mean = 0, weight = 0;
  for (double& value : out) {
    if (!std::isfinite(value)) continue;
    mean = keep * mean + (1 - keep) * value;
    weight = keep * weight + (1 - keep);
    value = keep == 0 ? value : mean / weight;
  }
  return out;
}

std::vector<LineChart> charts_of(std::span<const NamedRun> runs, const PlotRequest& request) {
  std::vector<LineChart> charts;
  add_chart(charts, runs, request.smooth,
            {.title = "Loss", .y_label = "loss", .log_y = request.log_loss, .log_if_low = true},
            [](const StepMetrics& m) { return m.loss; });
  add_chart(charts, runs, 0,
            {.title = "Validation loss", .y_label = "loss", .log_y = request.log_loss, .log_if_low = true},
            [](const StepMetrics& m) { return m.validation_loss.value_or(train::kNotMeasured); });
  add_chart(charts, runs, request.smooth, {.title = "Accuracy", .y_label = "accuracy", .y_high = 1},
            [](const StepMetrics& m) { return m.accuracy; });
  std::vector<std::string> figures;
  for (const NamedRun& run : runs) run.metrics.add_figure_names(figures);
  for (const std::string& name : figures)
    add_chart(charts, runs, request.smooth, {.title = name, .y_label = name},
              [&](const StepMetrics& m) { return m.figure(name); });
  add_chart(charts, runs, 0, {.title = "Learning rate", .y_label = "rate"}, [](const StepMetrics& m) { return m.lr; });
  return charts;
}

int plot(const PlotRequest& request) {
  require(!request.json || !request.quiet, "--json", "prints the metrics that --quiet leaves out");
  const std::vector<NamedRun> runs = read_runs(request);
  std::vector<drawing::Drawing> drawings;
  for (const LineChart& chart : chosen(charts_of(runs, request), request.only)) drawings.push_back(draw(chart));
  const fs::path folder(request.out), svg = folder / "plot.svg", html = folder / "plot.html";
  as_bad_request("--out", [&] { train::create_folder(folder); });
  train::replace_file({folder, "plot.svg"}, drawing::svg_file(drawing::grid(drawings, 1)));
  train::replace_file({folder, "plot.html"}, page_of(runs, drawings, request.smooth));
  if (request.json) {
    print_now(json_of(runs, request.smooth, svg.string(), html.string()));
    return 0;
  }
  if (!request.quiet) print_text(table_of(runs, request.smooth) + "\n");
  print_text(fmt::format("Plots: {}, {}\n", svg.string(), html.string()));
  return 0;
}

}  // namespace tapegrad::tasks
