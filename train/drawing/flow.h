// Flow charts: boxes from top to bottom with arrows between them, such as the layers of a model.
#pragma once

#include <tapegrad/train/drawing/svg.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tapegrad::drawing {

/// A row of a box: a text at its left end, and one at its right end.
struct FlowRow {
  std::string left, right;  ///< left: as code
};

/// A box, or a sum. Its input is the output of the step above.
struct FlowStep {
  std::string title;               ///< of a box
  std::string note = {};           ///< at the right end of the title's line
  std::vector<std::string> code;   ///< lines below the title, broken where they are too long; of a sum: next to it
  std::vector<FlowRow> rows = {};  ///< below the code
  std::string output = {};         ///< at the arrow that leaves the step
  int colour = 7;                  ///< 0 to 7: c0 to c7 of drawing_style()

  /// A sum: adds the input of this earlier step to the output of the step above.
  std::optional<std::size_t> adds = {};
  /// A box next to the flow, before its first step: its output enters this later step.
  std::optional<std::size_t> feeds = {};
  /// The output of this other column of the chart enters the step, too.
  std::optional<std::size_t> reads = {};
};

/// A frame around the steps first to last, such as a layer that is repeated.
struct FlowFrame {
  std::size_t first = 0, last = 0;  ///< indices of steps
  std::string title, note;          ///< at the left and the right end of its first line
};

/// Steps from top to bottom.
struct FlowColumn {
  std::string title = {};               ///< above the column
  std::string input = {}, output = {};  ///< names of what enters and leaves the column
  std::string input_shape = {};         ///< at the first arrow
  std::vector<FlowStep> steps = {};     ///< those that feed others first
  std::vector<FlowFrame> frames = {};   ///< none inside of another one
};

/// Columns, from left to right. A step may read the output of a column further left.
struct FlowChart {
  std::vector<FlowColumn> columns;  ///< with their steps
};

/// The columns side by side, joined where one reads another. Error for an index of a step, frame or column that is not
/// there, or in the wrong order.
Drawing draw(const FlowChart& chart);
/// One drawing per column, for narrow pages, with the name of what the column reads. The same Error.
std::vector<Drawing> draw_columns(const FlowChart& chart);

}  // namespace tapegrad::drawing
