// A column of a table while it is read, value by value.
#pragma once

#include <tapegrad/train/data/columns.h>
#include <tapegrad/train/data/table.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

namespace tapegrad::data::detail {

// A text for a message: quoted, its first 40 bytes.
std::string in_quotes(std::string_view text);

class ColumnBuilder {
 public:
  // Error "[where] ..." for options that contradict each other.
  ColumnBuilder(std::string_view where, Column column);
  const std::string& name() const { return column_.name; }
  bool of_numbers() const { return std::holds_alternative<NumberOptions>(column_.values); }

  // Each appends a value. Returns why it cannot, such as "expected a number, got \"x\""; empty: it is appended.
  std::string add(std::string_view text);  // of numbers: the text of one
  std::string add(double number);          // of numbers only
  std::string add(int64_t number);         // of numbers only
  std::string add(uint64_t number);        // of numbers only
  std::string add_boolean(bool value);     // of numbers: 1 or 0; of classes: "true" or "false"
  std::string add_missing();
  Table::Read finish();

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::string add_number(std::string_view text);
  std::string add_class(std::string_view name);
  template <class T>
  void append(T value);

  Column column_;
  std::variant<std::vector<float>, std::vector<double>, std::vector<int64_t>> values_;  // of numbers and classes
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> ids_;                 // of classes
  std::vector<std::string> texts_;
};

}  // namespace tapegrad::data::detail
