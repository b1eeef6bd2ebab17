// What a topic says: sentences, tables and matrices, in order. A terminal and a page show the same pieces.
#pragma once

#include <tapegrad/train/drawing/svg.h>
#include <tapegrad/train/drawing/tables.h>
#include <tapegrad/tutorials/numbers.h>

#include <string>
#include <string_view>

namespace tapegrad::tasks {

using tutorial::Table;

// Numbers with or without words for their rows and columns; with -1 digits, as NumPy prints them. A terminal prints
// `printed` if it is not empty, else a table with brackets, or shades.
struct Matrix {
  Tensor values;  // [rows, columns]
  drawing::BracketTable how = {};
  std::string printed = {};
  bool shades = false;  // values from 0 to 1, more than fit into a table

  std::string terminal() const;
  std::string html() const;
};

class Notes {
 public:
  Notes() = default;
  Notes(const std::string& text) : terminal_(text), text_(text) {}
  Notes& operator+=(const std::string& text) { return terminal_ += text, text_ += text, *this; }
  Notes& operator+=(const Table& table) { return add(table.terminal(), table.html()); }
  Notes& operator+=(const Matrix& matrix) { return add(matrix.terminal(), matrix.html()); }
  Notes& operator+=(const Notes& more);
  // A piece of which both views are known.
  Notes& add(std::string_view terminal, std::string_view html);
  // "name:", and below it the array as NumPy prints it.
  void array(std::string_view name, const Tensor& values);

  const std::string& terminal() const { return terminal_; }
  std::string html() const;

 private:
  std::string terminal_, html_;
  std::string text_;  // what is not in html_ yet
};

// A heatmap of x [rows, columns], shaded from `low` to `high`, or from -high to high if low is negative. Up to 10 x 10
// cells show their values, with `digits` after the decimal point. A colour bar is below, except for whole numbers; rows
// that are `outlined` have a frame.
drawing::Drawing draw_matrix(std::string_view title, const Tensor& x, const std::vector<std::string>& rows,
                             const std::vector<std::string>& columns, double low, double high, int digits = 2,
                             const std::vector<std::size_t>& outlined = {});

// A text of texts.txt in the language of the environment, and the same with its values and an empty line below.
const std::string& text_told(std::string_view name);
template <class... Values>
std::string told(std::string_view name, const Values&... values) {
  return fmt::format(fmt::runtime(text_told(name)), values...) + "\n";
}

}  // namespace tapegrad::tasks
