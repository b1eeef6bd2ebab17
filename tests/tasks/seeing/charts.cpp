// Charts and heatmaps: hard cases, axes, and colours that all readers tell apart.
#include <tapegrad/tests/support/patterns.h>
#include <tapegrad/tests/support/pictures/svg_check.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>

namespace tapegrad::charts_tests {
namespace {

using namespace tests;
using Faults = std::vector<std::string>;
using Colour = std::array<double, 3>;  // red, green, blue from 0 to 1

drawing::Series series_of(const char* name, std::vector<double> y,
                          drawing::Series::Mark mark = drawing::Series::Mark::line) {
  drawing::Series out{name, {}, std::move(y), false, mark};
  for (std::size_t i = 0; i < out.y.size(); ++i) out.x.push_back(static_cast<double>(i));
  return out;
}

TEST(Charts, HardCasesAreReadable) {
  const std::vector<std::vector<double>> all{{},
                                             {1},
                                             {0, 0, 0},
                                             {1e-12, 1e12},
                                             {-3, kNan, 4, kInf},
                                             {kNan, kNan},
                                             {1e9, 1e9 + 1},
                                             {0.1, 0.2, 0.3},
                                             {-1e-9, -2e-9}};
  for (const std::vector<double>& y : all) {
    for (const bool log_y : {false, true}) {
      const drawing::Series one = series_of("one <&> \"two\"", y),
                            other = series_of("dots", y, drawing::Series::Mark::dots);
      const drawing::Series dashes = series_of("dashes", y, drawing::Series::Mark::dashes),
                            ticks = series_of("ticks", y, drawing::Series::Mark::ticks);
      const drawing::LineChart chart{
          .title = "A & B", .x_label = "x", .y_label = "y", .series = {one, other, dashes, ticks}, .log_y = log_y};
      EXPECT_EQ(faults_of(draw(chart)), Faults()) << y.size() << (y.empty() ? 0 : y[0]);
    }
  }
}

// The colour of a rule "svg .NAME { PROPERTY: #rrggbb" in a style.
Colour colour_of(std::string_view rules, const std::string& name, const std::string& property) {
  const std::string rule = "svg ." + name + " { " + property + ": #";
  const std::size_t at = rules.find(rule);
  EXPECT_NE(at, rules.npos) << rule;
  const long rgb = std::strtol(std::string(rules.substr(at + rule.size(), 6)).c_str(), nullptr, 16);
  return {double(rgb >> 16) / 255, double(rgb >> 8 & 255) / 255, double(rgb & 255) / 255};
}

Colour linear(Colour c) {
  for (double& v : c) v = v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
  return c;
}

// WCAG 2.
double luminance(const Colour& c) {
  const auto [r, g, b] = linear(c);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
double contrast(const Colour& a, const Colour& b) {
  const auto [low, high] = std::minmax({luminance(a), luminance(b)});
  return (high + 0.05) / (low + 0.05);
}

// CIELAB of what readers without green cones see (Vienot, Brettel, Mollon 1999), or of the colour itself.
Colour lab(const Colour& c, bool deuteranopia) {
  auto [r, g, b] = linear(c);
  if (deuteranopia) {
    const double l = 17.8824 * r + 43.5161 * g + 4.11935 * b, s = 0.0299566 * r + 0.184309 * g + 1.46709 * b;
    const double m = 0.494207 * l + 1.24827 * s;
    const auto cut = [](double v) { return std::clamp(v, 0.0, 1.0); };
    r = cut(0.080944 * l - 0.130504 * m + 0.116721 * s);
    g = cut(-0.0102485 * l + 0.0540194 * m - 0.113615 * s);
    b = cut(-0.000365294 * l - 0.00412163 * m + 0.693513 * s);
  }
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505), y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
  return {116 * y - 16, 500 * (x - y), 200 * (y - f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089))};
}

double difference(const Colour& a, const Colour& b, bool deuteranopia) {
  const Colour u = lab(a, deuteranopia), v = lab(b, deuteranopia);
  return std::hypot(u[0] - v[0], u[1] - v[1], u[2] - v[2]);
}

TEST(Charts, ManyLinesAreToldApart) {
  const std::string style(drawing::drawing_style());
  const std::size_t dark = style.find("@media");
  for (const std::string& rules : {style.substr(0, dark), style.substr(dark)}) {
    for (int i = 0; i < 8; ++i) {
      const auto line = [&](int number) { return colour_of(rules, fmt::format("c{}", number), "stroke"); };
      EXPECT_EQ(line(i), colour_of(rules, fmt::format("f{}", i), "fill")) << "a dot has another colour than a line";
      for (int j = 0; j < i; ++j) {
        EXPECT_GT(difference(line(i), line(j), false), 25) << i << " and " << j;
        EXPECT_GT(difference(line(i), line(j), true), 15) << i << " and " << j << " for the colour-blind";
      }
    }
  }
  drawing::LineChart chart;
  for (int i = 0; i < 17; ++i) chart.series.push_back(series_of("x", {double(i), 20}));
  chart.series[2].mark = drawing::Series::Mark::dashes;
  const std::string body = draw(chart).body;
  expect_parts(body, {"\"line c0\" d", "\"line c7\" d", "\"line c2 dashed\" d", "\"line c0 dashed\" d"});
  expect_parts(drawing::svg_file(draw(chart)), {".dashed { stroke-dasharray: 6 4; }"});
  chart.series = {series_of("slope", {1, 2}, drawing::Series::Mark::dashes)};  // one path from edge to edge
  expect_parts(draw(chart).body, {"<path class=\"line c0 dashed\" d=\"M80.0 260.0L496.0 50.0\"/>"});
}

TEST(Charts, RangeOfTheXAxis) {  // the plot begins at 80 and is 416 pixels wide; the dots have x = 0, 1 and 2
  drawing::LineChart chart{
      .series = {series_of("dots", {1, 2, 3}, drawing::Series::Mark::dots)}, .x_low = -1, .x_high = 1};
  chart.series[0].faint = true;
  const drawing::Drawing drawn = draw(chart);
  EXPECT_EQ(faults_of(drawn), Faults());
  expect_parts(drawn.body, {"cx=\"288.0\"", "cx=\"496.0\"", "r=\"1.5\""});
}

std::vector<double> numbers_of(const std::string& text, const std::string& pattern) {
  const Pattern number(pattern);
  std::vector<double> out;
  for (const Match& at : number.in(text)) out.push_back(std::stod(at[1]));
  return out;
}

TEST(Charts, AUnitOfAPlaneIsAsLongInXAsInY) {
  drawing::LineChart chart{.series = {{.x = {0, 2, 0, 2}, .y = {0, 0, 2, 2}, .mark = drawing::Series::Mark::dots}},
                           .equal = true};
  for (const double height : {100, 300, 900}) {
    chart.height = height;
    const std::string body = draw(chart).body;
    const auto x = numbers_of(body, "cx=\"([0-9.]+)"), y = numbers_of(body, "cy=\"([0-9.]+)");
    ASSERT_EQ(x.size(), 4U);
    EXPECT_NEAR(x[1] - x[0], y[0] - y[2], 0.11) << height;
    EXPECT_GT(x[1] - x[0], 0.4 * std::min(height, chart.width));
  }
}

// Of 1,960 and 300 steps, with groups of five in both.
TEST(Charts, LongLinesAreMeansOfTheSameNumberOfSteps) {
  std::vector<double> rising(1960), flat(300, 7);
  for (std::size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<double>(i);
  drawing::LineChart chart{.x_label = "step", .series = {series_of("a", rising), series_of("b", flat)}};
  std::string body = draw(chart).body;
  const Pattern path("class=\"line c([01])\" d=\"(M[^\"]*L[^\"]*)\"");
  std::vector<std::ptrdiff_t> points;
  for (const Match& at : path.in(body)) {
    const std::string all = at[2];
    points.push_back(1 + std::count(all.begin(), all.end(), 'L'));
  }
  EXPECT_EQ(points, (std::vector<std::ptrdiff_t>{392, 60}));
  EXPECT_NE(body.find(">step (means of 5)<"), std::string::npos);
  chart.series[0].faint = chart.series[1].faint = true;  // areas, in the legend, too
  body = draw(chart).body;
  EXPECT_EQ(body.find("(means"), std::string::npos);
  EXPECT_EQ(numbers_of(body, "class=\"band f([01])\"").size(), 4U);
  EXPECT_EQ(body.find("class=\"line"), std::string::npos);
}

TEST(Charts, LogarithmicAxesHaveLabelsAtTheirEnds) {
  const auto labels = [](const drawing::LineChart& chart) {
    const std::string body = draw(chart).body;
    EXPECT_EQ(faults_of(draw(chart)), Faults());
    return numbers_of(body, "text-anchor=\"end\">([0-9.e+-]+)</text>");
  };
  drawing::LineChart chart{.series = {series_of("a", {56, 3, 0.4, 0.0031})}, .log_y = true};
  EXPECT_EQ(labels(chart), (std::vector<double>{0.01, 0.1, 1, 10, 100, 0.002}));
  chart.series = {series_of("a", {1.5, 45})};
  EXPECT_EQ(labels(chart), (std::vector<double>{1, 10, 50, 2, 5, 20}));
  chart = {.x_label = "n", .series = {{.x = {4, 64, 1024}, .y = {1, 2, 3}}}, .log_x = true};
  EXPECT_EQ(faults_of(draw(chart)), Faults());
  EXPECT_NE(draw(chart).body.find(">n (log)<"), std::string::npos);
}

TEST(Charts, AnAxisIsLogarithmicByItselfWhereALineLiesLow) {
  const auto is_log = [](const std::vector<double>& y) {
    return draw(drawing::LineChart{.y_label = "loss", .series = {series_of("a", y)}, .log_if_low = true})
               .body.find(">loss (log)<") != std::string::npos;
  };
  EXPECT_TRUE(is_log({50, 1, 0.1, 0.1, 0.1}));
  EXPECT_FALSE(is_log({50, 1, 0.1, 0.1, 0}));
  EXPECT_FALSE(is_log({50, 40, 30, 1, 0.1}));
  EXPECT_FALSE(is_log({11, 3, 2.5, 2.4, 2.4}));
}

TEST(Charts, ReferencesAreInThePlot) {
  const drawing::LineChart chart{.series = {series_of("a", {1, 2, 3})},
                                 .references = {{9, "guessing <19>"}, {1, "best step", true}}};
  const std::string body = draw(chart).body;
  EXPECT_EQ(faults_of(draw(chart)), Faults());
  EXPECT_NE(body.find("d=\"M80.0 50.0H496.0\""), std::string::npos) << body;  // the highest of all
  expect_parts(body, {"d=\"M288.0 50.0V260.0\"", ">guessing &lt;19&gt;<"});
}

TEST(Charts, ALongLegendTakesLinesBelowTheChart) {
  drawing::LineChart chart;
  for (int i = 0; i < 9; ++i) chart.series.push_back(series_of("a name that is rather long", {1, 2}));
  const drawing::Drawing drawn = draw(chart);
  EXPECT_EQ(faults_of(drawn), Faults());
  EXPECT_EQ(drawn.width, 520);
  EXPECT_GT(drawn.height, 360);
}

TEST(Charts, BarsOfAnySign) {
  const drawing::BarChart chart{.title = "A title that is longer than the chart below it is wide, by some words",
                                .labels = {"a", "b"},
                                .series = {series_of("up", {1, 2}), series_of("down", {-1, 0})}};
  EXPECT_EQ(faults_of(draw(chart)), Faults());
}

TEST(Charts, BarsWithTheirSpread) {
  drawing::Series one = series_of("a", {1, 2});
  one.low = {0.5, 2};
  one.high = {1.5, 4};
  const drawing::Drawing drawn = draw(drawing::BarChart{.labels = {"x", "y"}, .series = {one}, .height = 80});
  EXPECT_EQ(faults_of(drawn), Faults());
  EXPECT_NE(drawn.body.find("<path class=\"branch\" d=\"M160.0 120.0V100.0\"/>"), std::string::npos) << drawn.body;
  one.high = {1};
  EXPECT_ERROR(draw(drawing::BarChart{.labels = {"x", "y"}, .series = {one}}));
}

TEST(Heatmaps, LabelsDoNotOverlap) {
  for (const std::size_t size : {1, 2, 5, 20, 64, 200}) {
    for (const char* label : {"7", "words", "internationalisation"}) {
      drawing::Heatmap map;
      map.title = "A title";
      map.row_axis = "rows";
      map.column_axis = "columns";
      map.row_labels = map.column_labels = Arguments(size, label);
      map.values.assign(size * size, 0.5F);
      EXPECT_EQ(faults_of(draw(map)), Faults()) << size << label;
      if (size > 8) continue;
      map.texts.assign(size * size, "-123.45");
      map.is_signed = true;
      map.values[0] = -std::numeric_limits<float>::infinity();
      EXPECT_EQ(faults_of(draw(map)), Faults()) << size << label;
    }
  }
}

TEST(Heatmaps, ShadesAndBlockedCells) {
  drawing::Heatmap map;
  map.row_labels = {"0"};
  map.column_labels = {"0", "1", "2", "3"};
  map.values = {0, 1, -1, NAN};
  map.is_signed = true;
  const std::string svg = drawing::svg_file(draw(map));
  expect_parts(svg,
               {"class=\"warm\" fill-opacity=\"1.00\"", "class=\"heat\" fill-opacity=\"1.00\"", "class=\"blocked\""});
  EXPECT_EQ(svg.find("fill-opacity=\"0.00\""), std::string::npos);
}

TEST(Heatmaps, TextsOnCellsHaveContrast) {
  drawing::Heatmap map;
  map.row_labels = {"row"};
  map.is_signed = true;
  for (int i = -25; i <= 25; ++i) {
    map.column_labels.push_back("x");
    map.values.push_back(static_cast<float>(i) / 25);
    map.texts.push_back(std::to_string(i));
  }
  const std::string body = draw(map).body, style(drawing::drawing_style());
  const std::size_t dark = style.find("@media");
  const std::vector<double> inks = numbers_of(body, "class=\"warm\" fill-opacity=\"([0-9.]+)");
  ASSERT_EQ(inks.size(), 25U);
  for (const std::string& rules : {style.substr(0, dark), style.substr(dark)}) {
    const Colour paper = colour_of(rules, "paper", "fill");
    for (int i = -25; i <= 25; ++i) {
      const std::size_t text = body.find(fmt::format(">{}</text>", i)), group = body.rfind("<g class=\"", text) + 10;
      const std::string name = body.substr(group, body.find('"', group) - group);
      const bool white = rules.find("svg ." + name + " text { fill: #ffffff") != rules.npos;
      const Colour ink = colour_of(rules, i < 0 ? "heat" : "warm", "fill");
      const double share = i == 0 ? 0 : inks[static_cast<std::size_t>(std::abs(i) - 1)];
      Colour cell;
      for (std::size_t k = 0; k < 3; ++k) cell[k] = paper[k] + share * (ink[k] - paper[k]);
      EXPECT_GE(contrast(cell, white ? Colour{1, 1, 1} : Colour{0, 0, 0}), 4.5) << i << " " << name;
    }
  }
}

// Browsers show <title> next to the pointer.
TEST(Charts, TheirNumbersAreTitles) {
  const auto expect = [](const drawing::Drawing& drawn, const std::vector<const char*>& titles) {
    EXPECT_EQ(faults_of(drawn), Faults());
    for (const char* title : titles)
      EXPECT_NE(drawn.body.find("<title>" + std::string(title) + "</title>"), std::string::npos) << title << drawn.body;
  };
  drawing::LineChart chart{
      .x_label = "step", .y_label = "loss", .series = {series_of("", {2.5}), series_of("a", {1, 0.25})}};
  expect(draw(chart), {"step 0, loss: 2.5\nstep 0, a: 1", "step 0, loss: 2.5\nstep 1, a: 0.25"});
  chart.series = {series_of("dots", {3}, drawing::Series::Mark::dots)};
  expect(draw(chart), {"0, 3"});
  expect(draw(drawing::BarChart{.labels = {"<b>"}, .series = {{.y = {7}}}}), {"&lt;b&gt;: 7"});
  drawing::Heatmap map{.row_labels = {"q"}, .column_labels = {"0", "1"}, .values = {0.5F, NAN}, .high = 3};
  expect(draw(map), {"q, 0: 1.5", "q, 1: -"});
  map.high = 0;
  EXPECT_EQ(draw(map).body.find("<title>"), std::string::npos);
}

TEST(Heatmaps, TheSmallestShadeIsNotBlank) {
  drawing::Heatmap map{.row_labels = {"0"}, .column_labels = {"0", "1"}, .values = {0, 0.03F}};
  const std::vector<double> inks = numbers_of(draw(map).body, "fill-opacity=\"([0-9.]+)");
  ASSERT_EQ(inks.size(), 1U);
  EXPECT_GE(inks[0], 0.06);
}

}  // namespace
}  // namespace tapegrad::charts_tests
