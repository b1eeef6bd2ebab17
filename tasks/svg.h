// Drawings in SVG: line charts and heatmaps that are readable on light and dark paper and need nothing from outside.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

// The inside of an <svg> and its size in pixels.
struct Drawing {
  double width = 0;
  double height = 0;
  std::string body;
};

struct Series {
  std::string name;
  std::vector<double> x, y;  // equally long; points that are not finite are left out
  bool faint = false;        // thin, behind the others: single steps beside their means
};

struct LineChart {
  std::string title;
  std::string x_label, y_label;
  std::vector<Series> series;
  bool log_y = false;            // values below the smallest positive one are drawn at the bottom
  double y_low = 0, y_high = 0;  // the range; from the data where both are equal
};
Drawing draw(const LineChart& chart);

struct Heatmap {
  std::string title;
  std::string row_axis, column_axis;
  std::vector<std::string> row_labels, column_labels;  // short; every second, third ... is left out where it gets tight
  std::vector<float> values;                           // [rows, columns], 0 (paper) to 1 (ink)
};
Drawing draw(const Heatmap& map);
// The scale that explains the colours of heatmaps.
Drawing draw_heat_scale(std::string_view low, std::string_view high);

// Drawings side by side, `columns` in a row.
Drawing grid(const std::vector<Drawing>& parts, int columns);

// A complete element for a page that has drawing_style(), and a complete file.
std::string svg_element(const Drawing& drawing);
std::string svg_file(const Drawing& drawing);
// The rules (CSS) that colour drawings.
std::string_view drawing_style();

// &, <, > and quotes made harmless.
std::string escape_markup(std::string_view text);

}  // namespace tapegrad::tasks
