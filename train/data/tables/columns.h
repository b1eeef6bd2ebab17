// The columns that are read from a table in a file: their names, and how their values are converted.
#pragma once

#include <tapegrad/autograd/dtype.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tapegrad::data {

struct NumberOptions {
  DType dtype = kFloat32;              ///< or kFloat64 or kInt64
  std::optional<double> missing = {};  ///< what stands for a missing value; none: a missing value throws Error
};
struct ClassOptions {
  /// The names of classes 0, 1 ...; any other name throws Error. For a second file, pass the names of the first one
  /// (Table::names). Empty: the names that occur, sorted by their bytes.
  std::vector<std::string> names = {};
  std::optional<std::string> missing = {};  ///< the name of the class of a missing value; none: it throws Error
};
struct TextOptions {
  std::optional<std::string> missing = {};  ///< what stands for a missing text; none: a missing text throws Error
};

/// Made by numbers(), classes() or texts().
struct Column {
  std::string name;                                               ///< in the header of the file
  std::variant<NumberOptions, ClassOptions, TextOptions> values;  ///< Its type and options.
};

/// A column of numbers.
inline Column numbers(std::string name, NumberOptions options = {}) { return {std::move(name), options}; }
/// A column of names, which become the numbers of their classes (int64).
inline Column classes(std::string name, ClassOptions options = {}) { return {std::move(name), std::move(options)}; }
/// A column of texts, which stay as they are.
inline Column texts(std::string name, TextOptions options = {}) { return {std::move(name), std::move(options)}; }

}  // namespace tapegrad::data
