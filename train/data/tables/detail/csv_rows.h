// The rows of a CSV file, one after the other.
#pragma once

#include <tapegrad/train/data/detail/input_file.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::data::detail {

class CsvRows {
 public:
  CsvRows(const std::string& path, char separator, bool quotes);

  // Reads the next row; false at the end of the file.
  bool next();
  // Of the row that was read: its fields, without quotes, and the line where it begins.
  std::size_t size() const { return fields_.size(); }
  std::string_view operator[](std::size_t i) const {
    return std::string_view(text_).substr(fields_[i].begin, fields_[i].size);
  }
  int64_t line() const { return first_line_; }
  int64_t line_of(std::size_t i) const { return fields_[i].line; }
  // Whether the line was empty.
  bool blank() const { return blank_; }

  // Error "[csv] PATH, line 3: ...".
  [[noreturn]] void refuse(int64_t line, std::string_view why) const;
  // Error "[csv] PATH, line 3, column 2: ...", counted from 0 here and from 1 there.
  [[noreturn]] void refuse(int64_t line, std::size_t column, std::string_view why) const;

 private:
  enum class State { start, plain, quoted, after_quote };
  struct Field {
    std::size_t begin, size;  // in text_
    int64_t line;
  };
  bool fill();
  void take_run(State state);
  void end_field();
  bool step(char c, State& state);
  State step_plain(char c, State state);
  State step_after_quote(char c);

  InputFile file_;
  const char separator_;
  std::array<bool, 256> ends_run_{};  // what may have a meaning outside quotes
  std::string buffer_;                // a piece of the file; what is not read yet: [at_, end_)
  std::size_t at_ = 0, end_ = 0;
  uint64_t offset_ = 0;  // in the file, of what follows the buffer
  std::string text_;     // of the row's fields
  std::vector<Field> fields_;
  std::size_t field_begin_ = 0;
  int64_t line_ = 1, first_line_ = 1, field_line_ = 1;
  bool blank_ = false, return_pending_ = false;  // after a \r outside quotes, which a \n must follow
};

}  // namespace tapegrad::data::detail
