#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/internal/foreign.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/train/data/detail/input_file.h>
#include <tapegrad/train/data/json_lines.h>
#include <tapegrad/train/data/tables/detail/column_builder.h>

#include <algorithm>
#include <unordered_set>

namespace tapegrad::data {
namespace {

using detail::ColumnBuilder;

// The lines of a file, without their ends.
class Lines {
 public:
  explicit Lines(const std::string& path) : file_(path), buffer_(kPiece, '\0') {
    fill();
    const std::string_view start = std::string_view(buffer_).substr(0, std::min<std::size_t>(end_, 512));
    if (const std::string kind = foreign_kind(start); !kind.empty()) refuse(1, "is not JSON, but " + kind);
    if (start.starts_with("\xEF\xBB\xBF")) at_ = 3;  // a byte order mark
  }
  int64_t number() const { return number_; }
  [[noreturn]] void refuse(int64_t number, std::string_view why) const {
    fail("json_lines", "{}, line {}: {}", file_.path(), number, why);
  }
  // False at the end of the file.
  bool next(std::string& line) {
    line.clear();
    ++number_;
    bool any = false;
    while (at_ < end_ || fill()) {
      any = true;
      const std::size_t stop = std::min(buffer_.find('\n', at_), end_);
      line.append(buffer_, at_, stop - at_);
      at_ = stop;
      if (line.size() > json::kMaxBytes) refuse(number_, fmt::format("has more than {} bytes", json::kMaxBytes));
      if (at_ == end_) continue;
      ++at_;
      break;
    }
    if (line.ends_with('\r')) line.pop_back();
    return any;
  }
  // Whether a line that is not blank follows; reads on to find out.
  bool more() {
    for (std::string line; next(line);)
      if (line.find_first_not_of(" \t") != std::string::npos) return true;
    return false;
  }

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 20;
  bool fill() {
    at_ = 0;
    end_ = file_.read(offset_, kPiece, buffer_.data());
    offset_ += end_;
    return end_ > 0;
  }
  detail::InputFile file_;
  std::string buffer_;
  std::size_t at_ = 0, end_ = 0;
  uint64_t offset_ = 0;
  int64_t number_ = 0;
};

// Appends the value of a field; returns why it cannot.
std::string add_json(ColumnBuilder& builder, const Json& value) {
  if (value.is_null()) return builder.add_missing();
  if (value.is_boolean()) return builder.add_boolean(value.get<bool>());
  if (!builder.of_numbers()) {
    if (!value.is_string()) return fmt::format("expected a string, got {}", json::shown(value));
    return builder.add(std::string_view(value.string()));
  }
  if (value.is_number_float()) return builder.add(value.get<double>());
  if (!value.is_number()) return fmt::format("expected a number, got {}", json::shown(value));
  return value.is_number_unsigned() ? builder.add(value.get<uint64_t>()) : builder.add(value.get<int64_t>());
}

// Why a line is not one object, as the whole file shows it.
[[noreturn]] void refuse_line(Lines& lines, std::string_view line, const std::string& why) {
  const int64_t number = lines.number();
  if (!why.starts_with(json::kIncomplete) || !lines.more()) lines.refuse(number, why);
  const bool list = line[line.find_first_not_of(" \t")] == '[';
  lines.refuse(number, fmt::format("expected one object per line, got {} that continues in the next line ({} makes "
                                   "lines of it)",
                                   list ? "an array" : "an object", list ? "jq -c '.[]' FILE" : "jq -c . FILE"));
}

}  // namespace

JsonLines::JsonLines(const std::string& path, const std::vector<Column>& columns) {
  Lines lines(path);
  std::vector<ColumnBuilder> builders;
  std::unordered_set<std::string_view> names;
  for (const Column& column : columns) {
    if (!names.insert(column.name).second)
      fail("json_lines", "{}: the field \"{}\" is to be read twice", path, column.name);
    builders.emplace_back("json_lines", column);
  }
  if (columns.empty()) fail("json_lines", "{}: expected at least one field to read", path);
  for (std::string line; lines.next(line);) {
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    const Json object = json::parse(line, [&](const std::string& why) { refuse_line(lines, line, why); });
    if (!object.is_object()) {
      const bool list = object.is_array() && !object.empty() && object[0].is_object();
      lines.refuse(lines.number(), fmt::format("expected an object, got {}{}", json::shown(object),
                                               list ? " (jq -c '.[]' FILE makes lines of it)" : ""));
    }
    for (ColumnBuilder& builder : builders) {
      const Json* const field = object.find(builder.name());
      const std::string why = !field ? builder.add_missing() : add_json(builder, *field);
      if (why.empty()) continue;
      fail("json_lines", "{}, line {}, field \"{}\": {}", path, lines.number(), builder.name(), why);
    }
    ++size_;
  }
  for (ColumnBuilder& builder : builders) columns_.push_back(builder.finish());
}

}  // namespace tapegrad::data
