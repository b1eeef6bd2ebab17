// Numbers of a page, and tensors in the form in which they are compared.
#pragma once

#include <fmt/format.h>
#include <tapegrad/autograd/tensor.h>
#include <tapegrad/tutorials/page.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapegrad::tasks::tutorial {

/// Cells in columns; the first rows are words. In a terminal, a column has as many characters as `widths` says, the
/// last one also for further columns, from the right, or from the left if negative; without widths, as many as it
/// needs.
class Table {
 public:
  explicit Table(std::vector<int> widths = {}, std::size_t heads = 1) : widths_(std::move(widths)), heads_(heads) {}
  /// Begins a row.
  template <class... Cells>
  Table& row(const Cells&... cells) {
    return rows_.emplace_back(), add(cells...);
  }
  /// Further cells of the last row.
  template <class... Cells>
  Table& add(const Cells&... cells) {
    (rows_.back().push_back(fmt::format("{}", cells)), ...);
    return *this;
  }
  bool empty() const { return rows_.empty(); }
  std::string terminal() const;
  std::string html() const;

 private:
  friend Table table_of(std::string_view, const std::vector<std::string>&, const std::vector<std::string>&);

  std::vector<int> widths_;
  std::size_t heads_;  // rows of words
  bool named_ = true;  // the first column is words
  std::vector<std::vector<std::string>> rows_;
};

/// Our digits must be those of the tutorial.
Number same(std::string_view label, std::string ours);
/// They differ for the reason in the file.
Number different(std::string_view label, std::string ours);
/// The tutorial drew its numbers without a seed; the file says what can be compared, as the shape.
Number drawn(std::string_view label, std::string ours);
/// Numbers that support what the section says without numbers; the file names them.
Number own(std::string ours);

/// Rows of numbers with `digits` after the point, separated by single spaces, as "0.90 0.70\n0.60 0.80", and in powers
/// of ten, as "9.0e-01".
std::string rows_of(const Tensor& x, int digits);
std::string exponent_rows_of(const Tensor& x, int digits);
/// The same with up to eight digits and without trailing zeros, as NumPy prints: "0.2 0.8 0.3".
std::string numpy_rows(const Tensor& x);
/// Printed numbers without brackets and with single spaces between them: "[[0.2  0.8]\n [0.7 1. ]]" is "0.2
/// 0.8\n0.7 1.".
std::string plain(std::string_view printed);
/// Those rows as a table, with words for its rows and columns or without. In texts with several spaces, these divide
/// cells, and the first line is words. Empty for a single number, and for lines of different lengths, unless rows have
/// words: shapes have different lengths.
Table table_of(std::string_view text, const std::vector<std::string>& rows, const std::vector<std::string>& columns);
/// "[2, 3]" in the same form: "2, 3".
std::string plain_shape(const Tensor& x);

}  // namespace tapegrad::tasks::tutorial
