// Tables, arrays and shaded maps for a terminal of 80 columns.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::drawing {

inline constexpr int kTerminalWidth = 80;

// x [rows, columns] as the tutorials' tables print it: names to the left and above, each cell in brackets.
//
//                   love      deep
//   love      [    0.60][    0.90]
//
// `digits` behind the point, with an exponent where told so; all columns, that of the names too, are `width` wide.
struct BracketTable {
  std::vector<std::string> rows, columns;
  int width = 12;
  int digits = 2;
  bool exponent = false;
};
std::string bracket_table(const Tensor& x, const BracketTable& how);

// A number with `digits` behind the point, and no sign in front of nothing but zeros.
std::string fixed(double value, int digits);

// A floating tensor of one or two axes as NumPy prints it: at most eight digits, trailing zeros left out.
std::string numpy_text(const Tensor& x);
// "(2, 5, 6)".
std::string tuple_text(const Shape& shape);

// Lines longer than the terminal is wide are broken at spaces; what follows stands where the line's last column begins
// (behind two spaces or more), or else its text; or `indent` columns in, where that is the first column.
std::string wrapped(std::string_view text, std::size_t indent = 0);

// Weights from 0 to 1 as shades, a character each; blank where not finite.
struct ShadedMap {
  std::string name;
  std::vector<std::string> row_labels;
  std::vector<float> weights;  // [rows, columns]
};
// Maps of equal size side by side, as many as fit into the terminal; an empty line behind each row of maps.
std::string shaded_maps(const std::vector<ShadedMap>& maps);
// What the characters mean, in one line.
std::string_view shades_legend();

}  // namespace tapegrad::drawing
