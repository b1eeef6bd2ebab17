// Draws charts and heatmaps: axes with round numbers, paths, and cells grouped by shade so that files stay small.
#include <fmt/format.h>
#include <tapegrad/tasks/svg.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapegrad::tasks {
namespace {

constexpr double kLeft = 80, kRight = 18, kTop = 44, kBottom = 44;  // margins of a chart
constexpr double kPlotWidth = 640, kPlotHeight = 210;
constexpr int kColours = 4;

struct Tick {
  double value;
  std::string label;
};

// Numbers of one, two or five times a power of ten that lie in [low, high]: about `wanted` of them.
std::vector<Tick> linear_ticks(double low, double high, int wanted) {
  const double raw = (high - low) / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double lead = raw / power;
  const double step = power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
  std::vector<Tick> ticks;
  for (auto i = static_cast<std::int64_t>(std::ceil(low / step - 1e-9));
       static_cast<double>(i) * step <= high + 1e-9 * step; ++i) {
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
  void settle() {  // no point or one: still a range
    if (low > high) low = 0, high = 1;
    if (low == high) {
      const double room = low == 0 ? 1 : std::fabs(low) * 0.5;
      low -= room;
      high += room;
    }
  }
};

// Where values stand on the paper.
struct Scale {
  Range x, y;
  bool log_y = false;

  double at_x(double v) const { return kLeft + (v - x.low) / (x.high - x.low) * kPlotWidth; }
  double at_y(double v) const {
    double part = 0;
    if (log_y) {
      part = (std::log10(std::max(v, y.low)) - std::log10(y.low)) / (std::log10(y.high) - std::log10(y.low));
    } else {
      part = (std::clamp(v, y.low, y.high) - y.low) / (y.high - y.low);
    }
    return kTop + (1 - part) * kPlotHeight;
  }
};

Scale scale_of(const LineChart& chart) {
  Scale scale;
  scale.log_y = chart.log_y;
  for (const Series& series : chart.series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!std::isfinite(series.y[i])) continue;
      scale.x.take(series.x[i]);
      if (!chart.log_y || series.y[i] > 0) scale.y.take(series.y[i]);
    }
  }
  scale.x.settle();
  if (chart.y_low != chart.y_high) {
    scale.y.low = chart.y_low;
    scale.y.high = chart.y_high;
  }
  scale.y.settle();
  if (scale.log_y && (scale.y.low <= 0 || scale.y.high / scale.y.low < 10)) scale.log_y = false;
  return scale;
}

// At most so many points: of each group of neighbours the mean, or for faint lines the lowest and the highest.
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

void text(std::string& out, double x, double y, std::string_view anchor, std::string_view what,
          std::string_view more = "") {
  fmt::format_to(std::back_inserter(out), "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                 anchor, more, escape_markup(what));
}

}  // namespace

std::string escape_markup(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

Drawing draw(const LineChart& chart) {
  const Scale scale = scale_of(chart);
  Drawing out{kLeft + kPlotWidth + kRight, kTop + kPlotHeight + kBottom, {}};
  auto to = std::back_inserter(out.body);
  text(out.body, kLeft, 18, "start", chart.title, " class=\"title\"");
  for (const Tick& tick :
       scale.log_y ? decade_ticks(scale.y.low, scale.y.high) : linear_ticks(scale.y.low, scale.y.high, 5)) {
    const double y = scale.at_y(tick.value);
    fmt::format_to(to, "<path class=\"rule\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>\n", kLeft, y, kPlotWidth);
    text(out.body, kLeft - 8, y + 4, "end", tick.label);
  }
  for (const Tick& tick : linear_ticks(scale.x.low, scale.x.high, 8)) {
    const double x = scale.at_x(tick.value);
    fmt::format_to(to, "<path class=\"rule\" d=\"M{:.1f} {:.1f}v5\"/>\n", x, kTop + kPlotHeight);
    text(out.body, x, kTop + kPlotHeight + 18, "middle", tick.label);
  }
  text(out.body, kLeft + kPlotWidth / 2, kTop + kPlotHeight + 36, "middle", chart.x_label);
  text(out.body, 14, kTop + kPlotHeight / 2, "middle", scale.log_y ? chart.y_label + " (logarithmic)" : chart.y_label,
       fmt::format(" transform=\"rotate(-90 14 {:.1f})\"", kTop + kPlotHeight / 2));
  const auto line = [&](std::size_t i, const std::string& path) {
    const char* faint = chart.series[i].faint ? " faint" : "";
    fmt::format_to(to, "<path class=\"line c{}{}\" d=\"{}\"/>\n", i % kColours, faint, path);
  };
  for (std::size_t i = 0; i < chart.series.size(); ++i) line(i, path_of(chart.series[i], scale));
  if (chart.series.size() < 2) return out;
  double legend = kLeft + kPlotWidth;  // from the right to the left
  for (std::size_t i = chart.series.size(); i-- > 0;) {
    text(out.body, legend, 36, "end", chart.series[i].name);
    legend -= 7.0 * static_cast<double>(chart.series[i].name.size()) + 24;
    line(i, fmt::format("M{:.1f} 32h18", legend));
    legend -= 20;
  }
  return out;
}

Drawing draw(const Heatmap& map) {
  const std::size_t rows = map.row_labels.size(), columns = map.column_labels.size();
  const std::size_t larger = std::max<std::size_t>({rows, columns, 1});
  const double cell = std::clamp(std::floor(280.0 / static_cast<double>(larger)), 2.0, 24.0);
  const double left = 46, top = 58;
  const double wide = cell * static_cast<double>(columns), high = cell * static_cast<double>(rows);
  Drawing out{std::max(left + wide + 16, 220.0), top + high + 12, {}};
  auto to = std::back_inserter(out.body);
  text(out.body, left, 16, "start", map.title, " class=\"title\"");
  text(out.body, left + wide / 2, 34, "middle", map.column_axis, " class=\"small\"");
  text(out.body, 10, top + high / 2, "middle", map.row_axis,
       fmt::format(" class=\"small\" transform=\"rotate(-90 10 {:.1f})\"", top + high / 2));
  const auto every = [&](std::size_t count) {  // label each n-th, so that labels of two digits stay apart
    const std::size_t fits = std::max<std::size_t>(1, static_cast<std::size_t>(cell * static_cast<double>(count) / 14));
    return (count + fits - 1) / fits;
  };
  for (std::size_t i = 0; i < columns; i += every(columns))
    text(out.body, left + cell * (static_cast<double>(i) + 0.5), top - 6, "middle", map.column_labels[i],
         " class=\"small\"");
  for (std::size_t i = 0; i < rows; i += every(rows))
    text(out.body, left - 5, top + cell * (static_cast<double>(i) + 0.5) + 3, "end", map.row_labels[i],
         " class=\"small\"");

  constexpr int kShades = 25;
  std::string cells[kShades + 1];
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      const float value = map.values[r * columns + c];
      const int shade = static_cast<int>(std::lround(std::clamp(value, 0.0F, 1.0F) * kShades));
      fmt::format_to(std::back_inserter(cells[shade]), "M{:g} {:g}h{:g}v{:g}h-{:g}z",
                     left + cell * static_cast<double>(c), top + cell * static_cast<double>(r), cell, cell, cell);
    }
  }
  fmt::format_to(to, "<rect class=\"paper\" x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\"/>\n", left, top, wide,
                 high);
  for (int shade = 1; shade <= kShades; ++shade) {
    if (cells[shade].empty()) continue;
    fmt::format_to(to, "<path class=\"heat\" fill-opacity=\"{:.2f}\" d=\"{}\"/>\n",
                   static_cast<double>(shade) / kShades, cells[shade]);
  }
  fmt::format_to(to, "<rect class=\"frame\" x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\"/>\n", left, top, wide,
                 high);
  return out;
}

Drawing draw_heat_scale(std::string_view low, std::string_view high) {
  constexpr int kSteps = 25;
  Drawing out{300, 34, {}};
  auto to = std::back_inserter(out.body);
  for (int i = 0; i < kSteps; ++i)
    fmt::format_to(to, "<rect class=\"heat\" fill-opacity=\"{:.2f}\" x=\"{}\" y=\"8\" width=\"6\" height=\"14\"/>\n",
                   static_cast<double>(i + 1) / kSteps, 40 + 6 * i);
  fmt::format_to(to, "<rect class=\"frame\" x=\"40\" y=\"8\" width=\"{}\" height=\"14\"/>\n", 6 * kSteps);
  text(out.body, 34, 19, "end", low, " class=\"small\"");
  text(out.body, 46 + 6 * kSteps, 19, "start", high, " class=\"small\"");
  return out;
}

Drawing grid(const std::vector<Drawing>& parts, int columns) {
  Drawing out;
  double wide = 0, y = 0, row_height = 0;
  for (const Drawing& part : parts) wide = std::max(wide, part.width);
  int column = 0;
  for (const Drawing& part : parts) {
    if (column == columns) {
      y += row_height;
      row_height = 0;
      column = 0;
    }
    fmt::format_to(std::back_inserter(out.body), "<g transform=\"translate({:g} {:g})\">\n{}</g>\n", wide * column, y,
                   part.body);
    row_height = std::max(row_height, part.height);
    out.width = std::max(out.width, wide * (column + 1));
    ++column;
  }
  out.height = y + row_height;
  return out;
}

std::string_view drawing_style() {
  return R"(svg { --ink: #1c2430; --soft: #5a6675; --rule: #dfe4ea; --paper: #ffffff; --heat: #0b5394;
  --c0: #1f6fb4; --c1: #c2571a; --c2: #2c8a4b; --c3: #8346a8; }
@media (prefers-color-scheme: dark) {
  svg { --ink: #e6eaf0; --soft: #a3afbd; --rule: #353d48; --paper: #171b21; --heat: #6db8ff;
    --c0: #63aef0; --c1: #f09a5c; --c2: #67c987; --c3: #c493e6; }
}
svg text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: var(--soft); }
svg text.title { font-size: 13px; font-weight: 600; fill: var(--ink); }
svg text.small { font-size: 9.5px; }
svg .rule { stroke: var(--rule); fill: none; }
svg .frame { stroke: var(--rule); fill: none; }
svg .paper { fill: var(--paper); }
svg .heat { fill: var(--heat); shape-rendering: crispEdges; }
svg .line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
svg .faint { stroke-width: 1; stroke-opacity: 0.35; }
svg .c0 { stroke: var(--c0); } svg .c1 { stroke: var(--c1); } svg .c2 { stroke: var(--c2); } svg .c3 { stroke: var(--c3); }
)";
}

std::string svg_element(const Drawing& drawing) {
  return fmt::format("<svg viewBox=\"0 0 {:g} {:g}\" width=\"{:g}\" height=\"{:g}\" role=\"img\">\n{}</svg>\n",
                     drawing.width, drawing.height, drawing.width, drawing.height, drawing.body);
}

std::string svg_file(const Drawing& drawing) {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:g} {:g}\" "
      "width=\"{:g}\" height=\"{:g}\">\n<style>\n{}</style>\n<rect width=\"100%\" height=\"100%\" "
      "class=\"paper\"/>\n{}</svg>\n",
      drawing.width, drawing.height, drawing.width, drawing.height, drawing_style(), drawing.body);
}

}  // namespace tapegrad::tasks
