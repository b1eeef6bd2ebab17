// Heatmaps, for example of attention weights.
#pragma once

#include <tapegrad/train/drawing/svg.h>

#include <string>
#include <vector>

namespace tapegrad::drawing {

/// A matrix of shaded cells with labels on both axes.
struct Heatmap {
  std::string title = {};                                        ///< above the cells
  std::string row_axis = {}, column_axis = {};                   ///< names of the axes
  std::vector<std::string> row_labels = {}, column_labels = {};  ///< one per row and column; crowded ones are left out
  std::vector<float> values = {};       ///< [rows, columns], from 0 (blank) to 1 (full colour); not finite: grey
  std::vector<std::string> texts = {};  ///< [rows, columns], written into the cells; empty: none
  bool is_signed = false;               ///< values from -1 to 1: blue below zero, red above
  double low = 0,
         high = 1;  ///< the numbers that the values 0 and 1 stand for, which browsers show over cells; equal: none
  std::vector<std::size_t> outlined = {};  ///< rows in a frame
  double cell_width = 0, cell_height = 0;  ///< in pixels; 0: chosen to fit the contents
};
/// Error if `values` or `texts` does not have one entry per cell.
Drawing draw(const Heatmap& map);

/// The colour scale of heatmaps, with its ends and its middle.
struct HeatScale {
  std::string name = {};     ///< of the values, before the scale
  double low = 0, high = 1;  ///< below 0: the scale of signed maps, from -high to high
  std::string blocked = {};  ///< what grey cells are; empty: not shown
};
/// A colour bar with its numbers.
Drawing draw(const HeatScale& scale);

}  // namespace tapegrad::drawing
