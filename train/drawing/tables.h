// Tables, arrays and shaded maps for a terminal of 80 columns.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::drawing {

/// The columns that tables and wrapped lines may use.
inline constexpr int kTerminalWidth = 80;

/// A table as the tutorials print it: names on the left and at the top, each cell in brackets.
///
/// ```text
///                   love      deep
///   love      [    0.60][    0.90]
/// ```
struct BracketTable {
  std::vector<std::string> rows, columns;  ///< their names
  int width = 12;                          ///< characters of each column, that of the names included
  int digits = 2;                          ///< after the decimal point
  bool exponent = false;                   ///< 1.00e-03 instead of 0.00
};
/// x [rows, columns] as a table. Error if it does not have one value per cell.
std::string bracket_table(const Tensor& x, const BracketTable& how);

/// The columns that a text takes in a terminal: two for each character of Chinese, Japanese and Korean and for each
/// emoji, none for combining marks and control characters, one for every other.
std::size_t display_width(std::string_view text);
/// The text, followed by spaces to that many columns.
std::string padded(std::string_view text, std::size_t width);

/// A number with `digits` after the decimal point; zero has no sign.
std::string fixed(double value, int digits);
/// A whole number with its thousands separated: "1,234,567".
std::string grouped(int64_t number);

/// A floating tensor of one or two axes as NumPy prints it: at most eight digits, no trailing zeros.
std::string numpy_text(const Tensor& x);
/// A shape as Python prints it: "(2, 5, 6)".
std::string tuple_text(const Shape& shape);

/// The text with lines of more than 80 columns broken at spaces. The next line begins under the last column of the
/// broken one, which is what follows two spaces or more; without such a column, after `indent` spaces.
std::string wrapped(std::string_view text, std::size_t indent = 0);

/// Weights from 0 to 1 as shades, one character each; blank where 0, as of masked positions, or not finite.
struct ShadedMap {
  std::string name;                     ///< the line above the map
  std::vector<std::string> row_labels;  ///< one per row
  std::vector<float> weights;           ///< [rows, columns]
};
/// Maps of one size side by side, as many as fit into the terminal, with an empty line after each row of maps. Error
/// if the sizes differ.
std::string shaded_maps(const std::vector<ShadedMap>& maps);
/// One line that explains the shades.
std::string_view shades_legend();

}  // namespace tapegrad::drawing
