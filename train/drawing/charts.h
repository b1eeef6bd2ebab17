// Charts of lines, dots and bars.
#pragma once

#include <tapegrad/train/drawing/svg.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tapegrad::drawing {

/// One curve of a LineChart, or one bar per group of a BarChart.
struct Series {
  std::string name = {};               ///< in the legend; empty: none
  std::vector<double> x = {}, y = {};  ///< of one length; points whose y is not finite are left out
  bool faint = false;                  ///< thin and pale, for single steps next to their means; small dots
  /// line and dashes connect the points; dots and ticks (short horizontal strokes) mark them.
  enum class Mark { line, dots, dashes, ticks } mark = Mark::line;
  std::vector<double> low = {}, high = {};  ///< of bars: their spread, which is drawn as a line; empty: none

  /// Appends a point.
  void add(double at, double value) {
    x.push_back(at);
    y.push_back(value);
  }
  /// Values at first, first + 1, first + 2 ...
  static Series numbered(std::string name, std::vector<double> values, int64_t first = 0);
};

/// A dashed line with a name: what the values are compared with.
struct Reference {
  double value = 0;       ///< on the y axis, or on the x axis if it is vertical
  std::string name = {};  ///< next to the line
  bool vertical = false;  ///< from the bottom to the top of the plot
};

/// Curves over a common x axis. Long curves are reduced to about 500 points: means of groups, of the same number of
/// steps in every series; faint ones become the area between the lowest and the highest value of each group. There are
/// eight colours, from the third on with patterns of dashes.
struct LineChart {
  std::string title = {};                  ///< above the plot
  std::string x_label = {}, y_label = {};  ///< names of the axes
  std::vector<Series> series = {};         ///< drawn in this order
  std::vector<Reference> references = {};  ///< drawn over the series
  bool log_y = false;            ///< logarithmic where values span a factor of 10; values of 0 and less: at the bottom
  bool log_x = false;            ///< the same for the x axis
  bool log_if_low = false;       ///< log_y where most values would be in the lowest tenth of a linear axis
  bool equal = false;            ///< one unit is as long in x as in y, for points of a plane
  double y_low = 0, y_high = 0;  ///< range of the y axis; equal: from the data
  double x_low = 0, x_high = 0;  ///< the same for the x axis
  double width = 416, height = 210;  ///< of the plot in pixels, without its margins
};
/// Error if a series has x and y of different lengths.
Drawing draw(const LineChart& chart);

/// Groups of bars, one group per label; each group has one bar of every series.
struct BarChart {
  std::string title = {};                ///< above the plot
  std::vector<std::string> labels = {};  ///< below the groups
  std::vector<Series> series = {};       ///< y, and low and high where there are some: one value per label
  double width = 320, height = 180;      ///< of the plot in pixels, without its margins
};
/// Error if a series does not have one value per label.
Drawing draw(const BarChart& chart);

}  // namespace tapegrad::drawing
