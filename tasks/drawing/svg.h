// Drawings in SVG: charts and heatmaps that are readable on light and dark paper and need nothing from outside.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::drawing {

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
  enum class Mark { line, dots, dashes } mark = Mark::line;
};

struct LineChart {
  std::string title;
  std::string x_label, y_label;
  std::vector<Series> series;
  bool log_y = false;                // values below the smallest positive one are drawn at the bottom
  double y_low = 0, y_high = 0;      // the range; from the data where both are equal
  double width = 640, height = 210;  // of the plot, without its margins
};
Drawing draw(const LineChart& chart);

// Groups of bars, one for each label: in a group one bar of every series.
struct BarChart {
  std::string title;
  std::vector<std::string> labels;
  std::vector<Series> series;  // y alone counts, as many as labels
  double width = 320, height = 180;
};
Drawing draw(const BarChart& chart);

struct Heatmap {
  std::string title;
  std::string row_axis, column_axis;
  std::vector<std::string> row_labels, column_labels;  // every second, third ... is left out where it gets tight
  std::vector<float> values = {};          // [rows, columns], 0 (paper) to 1 (ink); not finite: blocked, in grey
  std::vector<std::string> texts = {};     // [rows, columns], written into the cells; or none
  bool is_signed = false;                  // values from -1 to 1: cold below zero, warm above
  double cell_width = 0, cell_height = 0;  // in pixels; chosen by what has to fit in where 0
};
Drawing draw(const Heatmap& map);
// The scale that explains the colours of heatmaps.
Drawing draw_heat_scale(std::string_view low, std::string_view high, bool is_signed = false);

// Drawings side by side, `columns` in a row; each column as wide as its widest.
Drawing grid(const std::vector<Drawing>& parts, int columns);

// A complete element for a page that has drawing_style(), and a complete file.
std::string svg_element(const Drawing& drawing);
std::string svg_file(const Drawing& drawing);
// The rules (CSS) that colour drawings.
std::string_view drawing_style();

// --- for what is drawn elsewhere ---
// Sizes of type: a drawing has no others. Their names are the classes of the style.
enum class Type { title, normal, small };
// <text> with its anchor ("start", "middle", "end") at (x, y). `more`: further attributes.
void write_text(std::string& out, double x, double y, std::string_view anchor, std::string_view what,
                Type type = Type::normal, std::string_view more = "");
// What the text takes in DejaVu Sans: more than in other fonts that browsers choose.
double text_width(std::string_view text, Type type = Type::normal);
// &, <, > and quotes made harmless.
std::string escape_markup(std::string_view text);

}  // namespace tapegrad::drawing
