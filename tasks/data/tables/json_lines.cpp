#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/tasks/data/detail/input_file.h>
#include <tapegrad/tasks/data/json_lines.h>
#include <tapegrad/tasks/data/tables/detail/column_builder.h>

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace tapegrad::data {
namespace {

using detail::ColumnBuilder;

// The lines of a file, without their ends.
class Lines {
 public:
  explicit Lines(const std::string& path) : file_(path), buffer_(kPiece, '\0') {}
  int64_t number() const { return number_; }
  [[noreturn]] void refuse(std::string_view why) const {
    fail("json_lines", fmt::format("{}, line {}: {}", file_.path(), number_, why));
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
      if (line.size() > json::kMaxBytes) refuse(fmt::format("has more than {} bytes", json::kMaxBytes));
      if (at_ == end_) continue;
      ++at_;
      break;
    }
    if (line.ends_with('\r')) line.pop_back();
    return any;
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
std::string add_json(ColumnBuilder& builder, const nlohmann::json& value) {
  if (value.is_null()) return builder.add_missing();
  if (!builder.of_numbers()) {
    if (!value.is_string()) return fmt::format("expected a string, got {}", json::shown(value));
    return builder.add(std::string_view(value.get_ref<const std::string&>()));
  }
  if (value.is_number_float()) return builder.add(value.get<double>());
  if (!value.is_number()) return fmt::format("expected a number, got {}", json::shown(value));
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()})
    return fmt::format("{} is out of the range of int64", value.get<uint64_t>());
  return builder.add(value.get<int64_t>());
}

}  // namespace

JsonLines::JsonLines(const std::string& path, const std::vector<Column>& columns) {
  Lines lines(path);
  std::vector<ColumnBuilder> builders;
  std::unordered_set<std::string_view> names;
  for (const Column& column : columns) {
    if (!names.insert(column.name).second)
      fail("json_lines", fmt::format("{}: the field \"{}\" is to be read twice", path, column.name));
    builders.emplace_back("json_lines", column);
  }
  if (columns.empty()) fail("json_lines", fmt::format("{}: expected at least one field to read", path));
  for (std::string line; lines.next(line);) {
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    if (line.find('\0') != std::string::npos)
      lines.refuse("has a NUL byte (expected a text in UTF-8; is it UTF-16, or damaged?)");
    const nlohmann::json object = json::parse(line, [&](const std::string& why) { lines.refuse(why); });
    if (!object.is_object()) lines.refuse(fmt::format("expected an object, got {}", json::shown(object)));
    for (ColumnBuilder& builder : builders) {
      const auto field = object.find(builder.name());
      const std::string why = field == object.end() ? builder.add_missing() : add_json(builder, *field);
      if (why.empty()) continue;
      fail("json_lines", fmt::format("{}, line {}, field \"{}\": {}", path, lines.number(), builder.name(), why));
    }
    ++size_;
  }
  for (ColumnBuilder& builder : builders) columns_.push_back(builder.finish());
}

}  // namespace tapegrad::data
