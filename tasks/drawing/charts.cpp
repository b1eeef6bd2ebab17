#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/tasks/drawing/charts.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapegrad::drawing {
namespace {

constexpr double kLeft = 80, kRight = 24, kTop = 50, kBottom = 50;  // margins of a chart
constexpr std::size_t kColours = 8;                                 // svg.cpp has their rules

void require_values(std::string_view where, std::string_view series, std::size_t values, std::size_t count,
                    std::string_view what, std::string_view of) {
  if (values != count) {
    fail(where, fmt::format("expected one {} per {} in the series \"{}\", got {} {} and {} values", what, of, series,
                            count, of == "label" ? "labels" : of, values));
  }
}

bool joins(Series::Mark mark) { return mark == Series::Mark::line || mark == Series::Mark::dashes; }

struct Tick {
  double value;
  std::string label;
};

// About `wanted` ticks in [low, high], at multiples of 1, 2 or 5 times a power of ten.
std::vector<Tick> linear_ticks(double low, double high, int wanted) {
  const double raw = (high - low) / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double lead = raw / power;
  const double step = power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
  std::vector<Tick> ticks;
  for (auto i = static_cast<int64_t>(std::ceil(low / step - 1e-9)); static_cast<double>(i) * step <= high + 1e-9 * step;
       ++i) {
    const double value = static_cast<double>(i) * step;
    ticks.push_back({value, fmt::format("{:.6g}", value)});
  }
  return ticks;
}

std::vector<Tick> decade_ticks(double low, double high) {
  std::vector<Tick> ticks;
  const int first = static_cast<int>(std::ceil(std::log10(low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log10(high) + 1e-9));
  for (int e = first; e <= last; e += 1 + (last - first) / 8)
    ticks.push_back(
        {std::pow(10.0, e), e >= -4 && e <= 5 ? fmt::format("{:.6g}", std::pow(10.0, e)) : fmt::format("1e{}", e)});
  return ticks;
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void take(double v) {
    if (!std::isfinite(v)) return;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  void settle() {  // makes a range of no value, or of one
    if (low > high) low = 0, high = 1;
    if (low == high) {
      const double room = low == 0 ? 1 : std::fabs(low) * 0.5;
      low -= room;
      high += room;
    }
  }
};

// Positions of values in the drawing.
struct Scale {
  double width, height;  // of the plot
  Range x, y;
  bool log_y = false;

  double at_x(double v) const { return kLeft + (std::clamp(v, x.low, x.high) - x.low) / (x.high - x.low) * width; }
  double at_y(double v) const {
    double part = 0;
    if (log_y) {
      part = (std::log10(std::max(v, y.low)) - std::log10(y.low)) / (std::log10(y.high) - std::log10(y.low));
    } else {
      part = (std::clamp(v, y.low, y.high) - y.low) / (y.high - y.low);
    }
    return kTop + (1 - part) * height;
  }
  double bottom() const { return kTop + height; }
};

Scale scale_of(const LineChart& chart) {
  Scale scale{chart.width, chart.height, {}, {}, chart.log_y};
  for (const Series& series : chart.series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!std::isfinite(series.y[i])) continue;
      scale.x.take(series.x[i]);
      if (!chart.log_y || series.y[i] > 0) scale.y.take(series.y[i]);
    }
  }
  scale.x.settle();
  const bool marks =
      std::any_of(chart.series.begin(), chart.series.end(), [](const Series& s) { return !joins(s.mark); });
  if (marks) {  // room for the marks at the edges
    scale.x.low -= 0.5;
    scale.x.high += 0.5;
    const double room = chart.log_y ? 0 : 0.05 * (scale.y.high - scale.y.low);
    if (std::isfinite(room)) {
      scale.y.low -= room;
      scale.y.high += room;
    }
  }
  if (chart.x_low != chart.x_high) {
    scale.x.low = chart.x_low;
    scale.x.high = chart.x_high;
  }
  if (chart.y_low != chart.y_high) {
    scale.y.low = chart.y_low;
    scale.y.high = chart.y_high;
  }
  scale.y.settle();
  if (scale.log_y && (scale.y.low <= 0 || scale.y.high / scale.y.low < 10)) scale.log_y = false;
  return scale;
}

// At most kPoints points, or twice as many: the mean of each group of neighbours, for faint lines its minimum and
// maximum.
std::string path_of(const Series& series, const Scale& scale) {
  constexpr std::size_t kPoints = 480;
  std::string path;
  const auto point = [&](double x, double y) {
    fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.1f}", path.empty() ? "M" : "L", scale.at_x(x), scale.at_y(y));
  };
  const std::size_t group = (series.x.size() + kPoints - 1) / kPoints;
  for (std::size_t begin = 0; begin < series.x.size(); begin += group) {
    Range range;
    double sum = 0;
    int count = 0;
    const std::size_t end = std::min(begin + group, series.x.size());
    for (std::size_t i = begin; i < end; ++i) {
      if (!std::isfinite(series.y[i])) continue;
      range.take(series.y[i]);
      sum += series.y[i];
      ++count;
    }
    if (count == 0) continue;
    const double x = (series.x[begin] + series.x[end - 1]) / 2;
    if (series.faint && count > 1) {
      point(x, range.low);
      point(x, range.high);
    } else {
      point(x, sum / count);
    }
  }
  return path;
}

// `number`: of the series.
void write_line(std::string& out, std::size_t number, const Series& series, std::string_view path) {
  if (path.empty()) return;
  const bool again = series.mark == Series::Mark::line && number / kColours % 2 == 1;  // the colour has a solid line
  fmt::format_to(std::back_inserter(out), "<path class=\"line c{}{}{}\" d=\"{}\"/>\n", number % kColours,
                 again || series.mark == Series::Mark::dashes ? " dashed" : "", series.faint ? " faint" : "", path);
}

void write_dot(std::string& out, std::size_t number, bool faint, double x, double y) {
  fmt::format_to(std::back_inserter(out),
                 "<circle class=\"f{}\" fill-opacity=\"0.75\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>\n",
                 number % kColours, x, y, faint ? 1.5 : 3.5);
}

void write_series(std::string& out, const Series& series, std::size_t number, const Scale& scale) {
  if (joins(series.mark)) return write_line(out, number, series, path_of(series, scale));
  std::string ticks;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (!std::isfinite(series.y[i])) continue;
    const double x = scale.at_x(series.x[i]), y = scale.at_y(series.y[i]);
    if (series.mark == Series::Mark::dots) {
      write_dot(out, number, series.faint, x, y);
    } else {
      fmt::format_to(std::back_inserter(ticks), "M{:.1f} {:.1f}h18", x - 9, y);
    }
  }
  write_line(out, number, series, ticks);
}

// Tick labels and horizontal rules; the rule at zero is stronger where there are negative values.
void write_y_axis(std::string& out, const Scale& scale, const std::vector<Tick>& ticks, std::string_view label) {
  for (const Tick& tick : ticks) {
    const double y = scale.at_y(tick.value);
    fmt::format_to(std::back_inserter(out), "<path class=\"{}\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>\n",
                   tick.value == 0 && scale.y.low < 0 ? "zero" : "rule", kLeft, y, scale.width);
    write_text(out, kLeft - 8, y + 4, "end", tick.label);
  }
  if (label.empty()) return;
  const double middle = kTop + scale.height / 2;
  write_text(out, 16, middle, "middle", label, Type::normal,
             fmt::format(" transform=\"rotate(-90 16 {:.1f})\"", middle));
}

// One line under the title, from right to left: names and samples of their marks.
void write_legend(std::string& out, const std::vector<Series>& series, double right) {
  if (series.size() < 2) return;
  for (std::size_t i = series.size(); i-- > 0;) {
    if (series[i].name.empty()) continue;
    write_text(out, right, kTop - 11, "end", series[i].name);
    right -= text_width(series[i].name) + 26;
    const double y = kTop - 15;
    switch (series[i].mark) {
      case Series::Mark::dots: write_dot(out, i, series[i].faint, right + 12, y); break;
      default: write_line(out, i, series[i], fmt::format("M{:.1f} {:.1f}h18", right, y));
    }
    right -= 16;
  }
}

// A drawing with only the title.
Drawing titled(const auto& chart) {
  Drawing out{kLeft + chart.width + kRight, kTop + chart.height + kBottom, {}};
  out.width = std::max(out.width, text_width(chart.title, Type::title) + 24);
  write_text(out.body, 4, 18, "start", chart.title, Type::title);
  return out;
}

}  // namespace

Drawing draw(const LineChart& chart) {
  for (const Series& series : chart.series)
    require_values("line_chart", series.name, series.y.size(), series.x.size(), "y", "x");
  const Scale scale = scale_of(chart);
  Drawing out = titled(chart);
  write_y_axis(out.body, scale,
               scale.log_y ? decade_ticks(scale.y.low, scale.y.high) : linear_ticks(scale.y.low, scale.y.high, 5),
               scale.log_y ? chart.y_label + " (log)" : chart.y_label);
  for (const Tick& tick : linear_ticks(scale.x.low, scale.x.high, std::max(2, static_cast<int>(chart.width / 80)))) {
    const double x = scale.at_x(tick.value);
    fmt::format_to(std::back_inserter(out.body), "<path class=\"rule\" d=\"M{:.1f} {:.1f}v5\"/>\n", x, scale.bottom());
    write_text(out.body, x, scale.bottom() + 20, "middle", tick.label);
  }
  write_text(out.body, kLeft + chart.width / 2, scale.bottom() + 39, "middle", chart.x_label);
  for (std::size_t i = 0; i < chart.series.size(); ++i) write_series(out.body, chart.series[i], i, scale);
  write_legend(out.body, chart.series, kLeft + chart.width);
  return out;
}

Drawing draw(const BarChart& chart) {
  for (const Series& series : chart.series) {
    require_values("bar_chart", series.name, series.y.size(), chart.labels.size(), "y", "label");
    if (series.low.empty() && series.high.empty()) continue;
    require_values("bar_chart", series.name, series.low.size(), chart.labels.size(), "low", "label");
    require_values("bar_chart", series.name, series.high.size(), chart.labels.size(), "high", "label");
  }
  Scale scale{chart.width, chart.height, {0, static_cast<double>(chart.labels.size())}, {0, 0}};
  for (const Series& series : chart.series)
    for (const std::vector<double>* values : {&series.y, &series.low, &series.high})
      for (const double y : *values) scale.y.take(y);
  scale.y.settle();
  Drawing out = titled(chart);
  write_y_axis(out.body, scale, linear_ticks(scale.y.low, scale.y.high, 5), "");
  const double bar = chart.width / static_cast<double>(std::max<std::size_t>(chart.labels.size(), 1)) * 0.7 /
                     static_cast<double>(std::max<std::size_t>(chart.series.size(), 1));
  for (std::size_t group = 0; group < chart.labels.size(); ++group) {
    const double middle = scale.at_x(static_cast<double>(group) + 0.5);
    const double first = middle - bar * static_cast<double>(chart.series.size()) / 2;
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
      const double y = scale.at_y(chart.series[i].y[group]), zero = scale.at_y(0);
      fmt::format_to(std::back_inserter(out.body),
                     "<rect class=\"f{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
                     i % kColours, first + bar * static_cast<double>(i), std::min(y, zero), bar, std::fabs(y - zero));
      if (chart.series[i].low.empty()) continue;
      fmt::format_to(std::back_inserter(out.body), "<path class=\"branch\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n",
                     first + bar * (static_cast<double>(i) + 0.5), scale.at_y(chart.series[i].low[group]),
                     scale.at_y(chart.series[i].high[group]));
    }
    write_text(out.body, middle, scale.bottom() + 20, "middle", chart.labels[group]);
  }
  write_legend(out.body, chart.series, kLeft + chart.width);
  return out;
}

}  // namespace tapegrad::drawing
