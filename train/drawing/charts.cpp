#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/train/drawing/charts.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tapegrad::drawing {
namespace {

constexpr double kLeft = 80, kRight = 24, kTop = 50, kBottom = 50;  // margins of a chart
constexpr std::size_t kColours = 8;                                 // svg.cpp has their rules

void require_values(std::string_view where, std::string_view series, std::size_t values, std::size_t count,
                    std::string_view what, std::string_view of) {
  if (values == count) return;
  fail(where, "expected one {} per {} in the series \"{}\", got {} {} and {} values", what, of, series, count,
       of == "label" ? "labels" : of, values);
}

bool joins(Series::Mark mark) { return mark == Series::Mark::line || mark == Series::Mark::dashes; }

// A place on an axis; without a label: a short stroke between the others.
struct Tick {
  double value;
  std::string label;
};

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
    if (low == high) widen(low == 0 ? 2 : std::fabs(low));
  }
  void widen(double to) {  // around its middle
    const double more = std::max(0.0, to - (high - low)) / 2;
    low -= more;
    high += more;
  }
};

struct Axis {
  Range range = {};
  bool log = false;
  double pixels = 0;

  // Without a factor of 10 between its ends, an axis is linear; a logarithmic one ends at 1, 2 or 5 times a power of
  // ten.
  void settle() {
    range.settle();
    log = log && range.low > 0 && range.high / range.low >= 10;
    if (!log) return;
    const auto round = [](double v, bool up) {
      const double power = std::pow(10.0, std::floor(std::log10(v) + 1e-9)), lead = v / power;
      if (up) return power * (lead < 1 + 1e-9 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
      return power * (lead < 2 - 1e-9 ? 1 : lead < 5 - 1e-9 ? 2 : 5);
    };
    range = {round(range.low, false), round(range.high, true)};
  }
  // From 0 at its low end to 1.
  double part(double v) const {
    v = std::clamp(v, range.low, range.high);
    return log ? std::log10(v / range.low) / std::log10(range.high / range.low)
               : (v - range.low) / (range.high - range.low);
  }
  std::vector<Tick> ticks(int wanted, double label) const { return log ? decades(label) : multiples(wanted); }

 private:
  // About `wanted` ticks, at multiples of 1, 2 or 5 times a power of ten.
  std::vector<Tick> multiples(int wanted) const {
    const double raw = (range.high - range.low) / wanted;
    const double power = std::pow(10.0, std::floor(std::log10(raw)));
    const double lead = raw / power;
    const double step = power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
    std::vector<Tick> ticks;
    for (auto i = static_cast<int64_t>(std::ceil(range.low / step - 1e-9));
         static_cast<double>(i) * step <= range.high + 1e-9 * step; ++i) {
      const double value = static_cast<double>(i) * step;
      ticks.push_back({value, fmt::format("{:.6g}", value)});
    }
    return ticks;
  }
  // Powers of ten, at most about eight with a label; their multiples where there is room; both ends. Labels are `label`
  // pixels apart.
  std::vector<Tick> decades(double label) const {
    const int first = static_cast<int>(std::floor(std::log10(range.low) + 1e-9));
    const int last = static_cast<int>(std::ceil(std::log10(range.high) - 1e-9));
    const int step = 1 + (last - first) / 8;
    std::vector<Tick> ticks;
    const auto crowded = [&](double v) {
      return std::ranges::any_of(ticks, [&](const Tick& t) {
        return !t.label.empty() && std::fabs(part(t.value) - part(v)) * pixels < label;
      });
    };
    const auto add = [&](double v, bool named) {
      if (v < range.low * (1 - 1e-9) || v > range.high * (1 + 1e-9)) return;
      const bool short_text = v > 0.9e-4 && v < 1.1e5;
      const double e = std::floor(std::log10(v) + 1e-9);
      const std::string text =
          short_text ? fmt::format("{:.6g}", v) : fmt::format("{:.0f}e{:.0f}", v / std::pow(10.0, e), e);
      ticks.push_back({v, !named || crowded(v) ? "" : text});
    };
    for (int e = first; e <= last; e += step) add(std::pow(10.0, e), true);
    for (const double end : {range.low, range.high}) add(end, true);
    for (int e = first; e < last && step == 1; ++e)
      for (int k = 2; k < 10; ++k) add(k * std::pow(10.0, e), last - first < 3 && (k == 2 || k == 5));
    return ticks;
  }
};

// Positions of values in the drawing.
struct Scale {
  Axis x, y;

  double at_x(double v) const { return kLeft + x.part(v) * x.pixels; }
  double at_y(double v) const { return kTop + (1 - y.part(v)) * y.pixels; }
  double bottom() const { return kTop + y.pixels; }
};

// More than half of the values are in the lowest tenth of a linear axis, and all could be on a logarithmic one.
bool lies_low(const std::vector<Series>& all) {
  Range range;
  for (const Series& series : all)
    for (const double y : series.y) range.take(y);
  std::size_t count = 0, low = 0;
  for (const Series& series : all) {
    for (const double y : series.y) {
      if (!std::isfinite(y)) continue;
      ++count;
      low += y < range.low + (range.high - range.low) / 10 ? 1 : 0;
    }
  }
  return range.low > 0 && range.high / range.low >= 10 && 2 * low > count;
}

void take_values(Scale& scale, const LineChart& chart) {
  for (const Series& series : chart.series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!std::isfinite(series.y[i])) continue;
      if (!scale.x.log || series.x[i] > 0) scale.x.range.take(series.x[i]);
      if (!scale.y.log || series.y[i] > 0) scale.y.range.take(series.y[i]);
    }
  }
  for (const Reference& at : chart.references) (at.vertical ? scale.x : scale.y).range.take(at.value);
}

Scale scale_of(const LineChart& chart) {
  const bool log_y = chart.log_y || (chart.log_if_low && lies_low(chart.series));
  Scale scale{{{}, chart.log_x, chart.width}, {{}, log_y, chart.height}};
  take_values(scale, chart);
  Range &x = scale.x.range, &y = scale.y.range;
  x.settle();
  const bool marks = std::ranges::any_of(chart.series, [](const Series& s) { return !joins(s.mark); });
  if (marks) {  // room for the marks at the edges
    if (!scale.x.log && !chart.equal) x.widen(x.high - x.low + 1);
    const double room = log_y ? 0 : 0.1 * (y.high - y.low);
    if (std::isfinite(room)) y.widen(y.high - y.low + room);
  }
  if (chart.x_low != chart.x_high) x = {chart.x_low, chart.x_high};
  if (chart.y_low != chart.y_high) y = {chart.y_low, chart.y_high};
  scale.x.settle();
  scale.y.settle();
  if (chart.equal) {
    const double unit = std::max((x.high - x.low) / chart.width, (y.high - y.low) / chart.height);
    x.widen(unit * chart.width);
    y.widen(unit * chart.height);
  }
  return scale;
}

// Neighbours that one point of a long line stands for: the same number of steps in every series of a chart.
struct Groups {
  std::size_t size = 1;
  double first = 0, width = 0;  // on the x axis

  explicit Groups(const std::vector<Series>& all) {
    constexpr std::size_t kPoints = 480;
    for (const Series& series : all) {
      const std::size_t count = series.x.size(), needed = (count + kPoints - 1) / kPoints;
      if (!joins(series.mark) || needed <= size) continue;
      size = needed;
      first = series.x.front();
      width = static_cast<double>(size) * (series.x.back() - first) / static_cast<double>(count - 1);
    }
  }
  bool together(double a, double b) const {
    const auto group = [this](double x) { return std::floor((x - first) / width + 1e-9); };
    return width != 0 && group(a) == group(b);
  }
};

// A line through the means of groups; `is_band`: the area between the lowest and the highest of each group.
std::string path_of(const Series& series, const Scale& scale, const Groups& groups, bool is_band) {
  std::string path, back;
  const auto point = [&](double x, double y) { return fmt::format("{:.1f} {:.1f}", scale.at_x(x), scale.at_y(y)); };
  for (std::size_t begin = 0, end = 0; begin < series.x.size(); begin = end) {
    Range range;
    double sum = 0;
    int count = 0;
    for (end = begin; end == begin || (end < series.x.size() && groups.together(series.x[begin], series.x[end]));
         ++end) {
      if (!std::isfinite(series.y[end])) continue;
      range.take(series.y[end]);
      sum += series.y[end];
      ++count;
    }
    if (count == 0) continue;
    const double x = (series.x[begin] + series.x[end - 1]) / 2;
    path += (path.empty() ? "M" : "L") + point(x, is_band ? range.high : sum / count);
    if (is_band) back = "L" + point(x, range.low) + back;
  }
  return is_band && !path.empty() ? path + back + "z" : path;
}

// `number`: of the series.
void write_line(std::string& out, std::size_t number, const Series& series, std::string_view path) {
  if (path.empty()) return;
  const bool again = series.mark == Series::Mark::line && number / kColours % 2 == 1;  // a line has this colour
  out += fmt::format("<path class=\"line c{}{}{}\" d=\"{}\"/>\n", number % kColours,
                     again || series.mark == Series::Mark::dashes ? " dashed" : "", series.faint ? " faint" : "", path);
}

// `title`: what a browser shows next to the pointer.
void write_dot(std::string& out, std::size_t number, bool faint, double x, double y, std::string_view title = {}) {
  out += fmt::format("<circle class=\"f{}\" fill-opacity=\"0.75\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"{}\n",
                     number % kColours, x, y, faint ? 1.5 : 3.5,
                     title.empty() ? "/>" : fmt::format("><title>{}</title></circle>", escape_markup(title)));
}

void write_band(std::string& out, std::size_t number, std::string_view path) {
  out += fmt::format("<path class=\"band f{}\" d=\"{}\"/>\n", number % kColours, path);
}

bool is_band(const Series& series, const Groups& groups) {
  return series.faint && joins(series.mark) && groups.size > 1 && series.x.size() > 1 &&
         groups.together(series.x[0], series.x[1]);
}

void write_series(std::string& out, const Series& series, std::size_t number, const Scale& scale,
                  const Groups& groups) {
  if (joins(series.mark)) {
    const bool band = is_band(series, groups);
    const std::string path = path_of(series, scale, groups, band);
    return band ? write_band(out, number, path) : write_line(out, number, series, path);
  }
  std::string ticks;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (!std::isfinite(series.y[i])) continue;
    const double x = scale.at_x(series.x[i]), y = scale.at_y(series.y[i]);
    if (series.mark == Series::Mark::dots) {
      write_dot(out, number, series.faint, x, y, fmt::format("{:.6g}, {:.6g}", series.x[i], series.y[i]));
    } else {
      ticks += fmt::format("M{:.1f} {:.1f}h18", x - 9, y);
    }
  }
  write_line(out, number, series, ticks);
}

// Tick labels and horizontal rules; the rule at zero is stronger where there are negative values.
void write_y_axis(std::string& out, const Scale& scale, const std::vector<Tick>& ticks, std::string_view label) {
  for (const Tick& tick : ticks) {
    const double y = scale.at_y(tick.value);
    const bool minor = tick.label.empty();
    out += fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>\n",
                       tick.value == 0 && scale.y.range.low < 0 ? "zero" : "rule", kLeft - (minor ? 4 : 0), y,
                       minor ? 4 : scale.x.pixels);
    if (!minor) write_text(out, kLeft - 8, y + 4, "end", tick.label);
  }
  if (label.empty()) return;
  const double middle = kTop + scale.y.pixels / 2;
  write_text(out, 16, middle, "middle", label, Type::normal,
             fmt::format(" transform=\"rotate(-90 16 {:.1f})\"", middle));
}

void write_x_axis(std::string& out, const Scale& scale, std::string_view label) {
  constexpr double kLabel = 44;
  const int wanted = std::max(2, static_cast<int>(scale.x.pixels / 80));
  for (const Tick& tick : scale.x.ticks(wanted, kLabel)) {
    const double x = scale.at_x(tick.value);
    out +=
        fmt::format("<path class=\"rule\" d=\"M{:.1f} {:.1f}v{}\"/>\n", x, scale.bottom(), tick.label.empty() ? 3 : 5);
    if (!tick.label.empty()) write_text(out, x, scale.bottom() + 20, "middle", tick.label);
  }
  write_text(out, kLeft + scale.x.pixels / 2, scale.bottom() + 39, "middle", label);
}

// Dashed lines: names of horizontal ones at the right, of vertical ones below those at the top.
void write_references(std::string& out, const std::vector<Reference>& references, const Scale& scale) {
  const double right = kLeft + scale.x.pixels;
  for (const Reference& at : references) {
    const double x = scale.at_x(at.value), y = scale.at_y(at.value);
    out += fmt::format("<path class=\"branch dashed\" d=\"M{:.1f} {:.1f}{}{:.1f}\"/>\n", at.vertical ? x : kLeft,
                       at.vertical ? kTop : y, at.vertical ? "V" : "H", at.vertical ? scale.bottom() : right);
    if (at.vertical) {
      const bool left = x + text_width(at.name, Type::small) + 8 > right;
      write_text(out, left ? x - 5 : x + 5, kTop + 30, left ? "end" : "start", at.name, Type::small);
    } else {
      write_text(out, right - 2, y < kTop + 16 ? y + 13 : y - 5, "end", at.name, Type::small);
    }
  }
}

// The numbers of curves as titles of strips, which browsers show next to the pointer: of every series the point that is
// nearest to the strip.
void write_tips(std::string& out, const LineChart& chart, const Scale& scale) {
  const auto is_dots = [](const Series& series) { return series.mark == Series::Mark::dots; };
  if (std::ranges::all_of(chart.series, is_dots)) return;  // dots have titles of their own
  constexpr std::size_t kStrips = 120;
  const double wide = scale.x.pixels / kStrips;
  std::vector<std::string> titles(kStrips);
  for (std::size_t i = 0; i < kStrips; ++i) {
    const auto far = [&](double x) { return std::fabs(scale.at_x(x) - kLeft - wide * (static_cast<double>(i) + 0.5)); };
    for (const Series& series : chart.series) {
      const auto at = std::ranges::min_element(series.x, [&](double a, double b) { return far(a) < far(b); });
      const double y = at == series.x.end() ? NAN : series.y[static_cast<std::size_t>(at - series.x.begin())];
      if (!std::isfinite(y)) continue;
      titles[i] += fmt::format("{}{} {:.6g}, {}: {:.6g}", titles[i].empty() ? "" : "\n", chart.x_label, *at,
                               series.name.empty() ? chart.y_label : series.name, y);
    }
  }
  out += "<g class=\"tips\" fill=\"none\" pointer-events=\"all\">\n";
  for (std::size_t i = 0, end = 0; i < kStrips; i = end) {
    while (end < kStrips && titles[end] == titles[i]) ++end;
    out += fmt::format("<path d=\"M{:.1f} {:g}h{:.1f}v{:g}h-{:.1f}z\"><title>{}</title></path>\n",
                       kLeft + wide * static_cast<double>(i), kTop, wide * static_cast<double>(end - i), scale.y.pixels,
                       wide * static_cast<double>(end - i), escape_markup(titles[i]));
  }
  out += "</g>\n";
}

// Names and samples of their marks: one line under the title, from right to left, or lines below the chart, as many as
// they need. `sample(out, i, x, y)` draws one of 18 pixels.
void write_legend(Drawing& out, const std::vector<Series>& series, const Scale& scale, const auto& sample) {
  if (series.size() < 2) return;
  constexpr double kMark = 26, kGap = 16, kLine = 17;
  const double right = kLeft + scale.x.pixels, left = 4;
  double all = 0;
  for (const Series& one : series) all += one.name.empty() ? 0 : text_width(one.name) + kMark + kGap;
  const bool above = all <= right + kGap - left;
  double x = above ? right + kGap - all : left, y = above ? kTop - 11 : scale.bottom() + 60;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (series[i].name.empty()) continue;
    const double end = x + kMark + text_width(series[i].name);
    if (!above && x > left && end > out.width - left) {
      x = left;
      y += kLine;
    }
    sample(out.body, i, x, y - 4);
    write_text(out.body, x + kMark, y, "start", series[i].name);
    x += kMark + text_width(series[i].name) + kGap;
    out.width = std::max(out.width, x - kGap + left);
  }
  if (!above) out.height = y + 10;
}

// A drawing with only the title.
Drawing titled(const auto& chart) {
  Drawing out{kLeft + chart.width + kRight, kTop + chart.height + kBottom, {}};
  out.width = std::max(out.width, text_width(chart.title, Type::title) + 24);
  write_text(out.body, 4, 18, "start", chart.title, Type::title);
  return out;
}

}  // namespace

Series Series::numbered(std::string name, std::vector<double> values, int64_t first) {
  Series series{.name = std::move(name), .y = std::move(values)};
  for (std::size_t i = 0; i < series.y.size(); ++i)
    series.x.push_back(static_cast<double>(first) + static_cast<double>(i));
  return series;
}

Drawing draw(const LineChart& chart) {
  for (const Series& series : chart.series)
    require_values("line_chart", series.name, series.y.size(), series.x.size(), "y", "x");
  const Scale scale = scale_of(chart);
  const Groups groups(chart.series);
  Drawing out = titled(chart);
  constexpr double kLabel = 13;
  const std::string_view log = " (log)";
  write_y_axis(out.body, scale, scale.y.ticks(5, kLabel), chart.y_label + std::string(scale.y.log ? log : ""));
  const bool means = std::ranges::any_of(chart.series, [&](const Series& s) {
    return !s.faint && joins(s.mark) && s.x.size() > 1 && groups.together(s.x[0], s.x[1]);
  });
  write_x_axis(out.body, scale,
               fmt::format("{}{}{}", chart.x_label, scale.x.log ? log : "",
                           means ? fmt::format(" (means of {})", groups.size) : ""));
  for (std::size_t i = 0; i < chart.series.size(); ++i) write_series(out.body, chart.series[i], i, scale, groups);
  write_references(out.body, chart.references, scale);
  write_tips(out.body, chart, scale);
  write_legend(out, chart.series, scale, [&](std::string& to, std::size_t i, double x, double y) {
    const Series& one = chart.series[i];
    if (one.mark == Series::Mark::dots) return write_dot(to, i, one.faint, x + 12, y);
    if (is_band(one, groups)) return write_band(to, i, fmt::format("M{:.1f} {:.1f}h18v10h-18z", x, y - 5));
    write_line(to, i, one, fmt::format("M{:.1f} {:.1f}h18", x, y));
  });
  return out;
}

Drawing draw(const BarChart& chart) {
  for (const Series& series : chart.series) {
    require_values("bar_chart", series.name, series.y.size(), chart.labels.size(), "y", "label");
    if (series.low.empty() && series.high.empty()) continue;
    require_values("bar_chart", series.name, series.low.size(), chart.labels.size(), "low", "label");
    require_values("bar_chart", series.name, series.high.size(), chart.labels.size(), "high", "label");
  }
  Scale scale{{{0, static_cast<double>(chart.labels.size())}, false, chart.width}, {{0, 0}, false, chart.height}};
  for (const Series& series : chart.series)
    for (const std::vector<double>* values : {&series.y, &series.low, &series.high})
      for (const double y : *values) scale.y.range.take(y);
  scale.y.settle();
  Drawing out = titled(chart);
  write_y_axis(out.body, scale, scale.y.ticks(5, 0), "");
  const double bar = chart.width / static_cast<double>(std::max<std::size_t>(chart.labels.size(), 1)) * 0.7 /
                     static_cast<double>(std::max<std::size_t>(chart.series.size(), 1));
  for (std::size_t group = 0; group < chart.labels.size(); ++group) {
    const double middle = scale.at_x(static_cast<double>(group) + 0.5);
    const double first = middle - bar * static_cast<double>(chart.series.size()) / 2;
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
      const double y = scale.at_y(chart.series[i].y[group]), zero = scale.at_y(0);
      out.body += fmt::format(
          "<rect class=\"f{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{}: "
          "{:.6g}</title></rect>\n",
          i % kColours, first + bar * static_cast<double>(i), std::min(y, zero), bar, std::fabs(y - zero),
          escape_markup(chart.labels[group]), chart.series[i].y[group]);
      if (chart.series[i].low.empty()) continue;
      out.body += fmt::format("<path class=\"branch\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n",
                              first + bar * (static_cast<double>(i) + 0.5), scale.at_y(chart.series[i].low[group]),
                              scale.at_y(chart.series[i].high[group]));
    }
    write_text(out.body, middle, scale.bottom() + 20, "middle", chart.labels[group]);
  }
  write_legend(out, chart.series, scale, [](std::string& to, std::size_t i, double x, double y) {
    to += fmt::format("<rect class=\"f{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"10\" height=\"10\"/>\n", i % kColours,
                      x + 8, y - 5);
  });
  return out;
}

}  // namespace tapegrad::drawing
