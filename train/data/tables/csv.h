// Csv: tables in text files, one row per line, read once and in a stream.
#pragma once

#include <tapegrad/train/data/columns.h>
#include <tapegrad/train/data/table.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace tapegrad::data {

struct CsvOptions {
  char separator = ',';                     ///< between two fields
  bool quotes = true;                       ///< false: quotes are characters as all others, as in many TSV files
  std::vector<std::string> missing = {""};  ///< what a field has where its value is missing
  std::vector<std::string> header = {};     ///< the names of all columns, for a file whose first line is a row
};

/// A file of comma-separated values as RFC 4180 defines them: fields with separators, line ends or quotes are in double
/// quotes, and quotes in them are doubled. Lines end with \n or \r\n; a byte order mark of UTF-8 at the start is
/// skipped, and so are empty lines, unless the file has only one column. Bytes are not changed otherwise.
///
///     const data::Csv flowers("flowers.csv", {data::numbers("length"), data::classes("species")});
///     data::DataLoader loader(flowers.dataset({"length"}, "species"), {.batch_size = 32, .shuffle = true});
///
/// Numbers are decimal, with or without exponent, or "inf", and may have spaces around them; they are rounded to the
/// nearest of their type, whatever the locale. Memory holds the columns that are read, and one row.
class Csv : public Table {
 public:
  /// Error "[csv] PATH, line 3, column 2 ("age"): ..." for a field that its column cannot hold, for a row of more or
  /// fewer fields than the header, for broken quotes, NUL bytes (a file in UTF-16), carriage returns alone, and rows of
  /// more than 100 MB. Error for columns that the header does not have or has twice, and for an empty file.
  Csv(const std::string& path, const std::vector<Column>& columns, const CsvOptions& options = {});
  Csv(const std::string&, std::initializer_list<const char*>) = delete;  // write {data::numbers("age")}
};

}  // namespace tapegrad::data
