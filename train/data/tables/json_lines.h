// JsonLines: files of one JSON object per line (JSONL), read once and in a stream.
#pragma once

#include <tapegrad/train/data/columns.h>
#include <tapegrad/train/data/table.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace tapegrad::data {

/// The chosen fields of the objects in a JSONL file, as columns: columns of numbers take numbers (int64 only whole
/// ones, without a decimal point), columns of classes and texts take strings. true and false are the numbers 1 and 0
/// and the classes "true" and "false". A field that is null or that an object does not have is a missing value. Other
/// fields are ignored, and so are empty lines.
///
///     const data::JsonLines reviews("reviews.jsonl", {data::texts("text"), data::classes("label")});
///     data::DataLoader loader(reviews.encoded("text", "label", *tokenizer), {.batch_size = 32}, data::Pad{0});
///
/// Memory holds the columns that are read, and one line.
class JsonLines : public Table {
 public:
  /// Error "[json_lines] PATH, line 3, field "age": ..." for a value that its column cannot hold, and "PATH, line 3:
  /// ..." for a line that is not one JSON object, or is longer than 100 MB.
  JsonLines(const std::string& path, const std::vector<Column>& columns);
  JsonLines(const std::string&, std::initializer_list<const char*>) = delete;  // write {data::numbers("age")}
};

}  // namespace tapegrad::data
