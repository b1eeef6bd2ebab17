#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/train/data/csv.h>
#include <tapegrad/train/data/tables/detail/column_builder.h>
#include <tapegrad/train/data/tables/detail/csv_rows.h>

#include <algorithm>

namespace tapegrad::data {
namespace {

using detail::ColumnBuilder;
using detail::CsvRows;

// The names of all columns of the file.
std::vector<std::string> csv_header(const std::string& path, CsvRows& rows, const CsvOptions& options) {
  if (!options.header.empty()) return options.header;
  if (!rows.next()) fail("csv", "{}: expected a line with the names of columns, got an empty file", path);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < rows.size(); ++i) names.emplace_back(rows[i]);
  return names;
}

// The first ten names, for a message.
std::string some_names(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", detail::in_quotes(names[i]));
  return names.size() > kShown ? text + fmt::format(" and {} more", names.size() - kShown) : text;
}

// Where the file has each of the columns.
std::vector<std::size_t> places_of(const std::string& path, const std::vector<std::string>& header,
                                   const std::vector<Column>& columns) {
  if (columns.empty()) fail("csv", "{}: expected at least one column to read", path);
  std::vector<std::size_t> places;
  for (const Column& column : columns) {
    const auto found = std::ranges::find(header, column.name);
    if (found == header.end())
      fail("csv", "{}: expected a column \"{}\", got {}", path, column.name, some_names(header));
    if (std::find(found + 1, header.end(), column.name) != header.end())
      fail("csv", "{}: has two columns \"{}\"", path, column.name);
    places.push_back(static_cast<std::size_t>(found - header.begin()));
    if (std::ranges::count(places, places.back()) > 1)
      fail("csv", "{}: the column \"{}\" is to be read twice", path, column.name);
  }
  return places;
}

}  // namespace

Csv::Csv(const std::string& path, const std::vector<Column>& columns, const CsvOptions& options) {
  CsvRows rows(path, options.separator, options.quotes);
  const std::vector<std::string> header = csv_header(path, rows, options);
  const std::vector<std::size_t> places = places_of(path, header, columns);
  std::vector<ColumnBuilder> builders;
  for (const Column& column : columns) builders.emplace_back("csv", column);
  while (rows.next()) {
    if (rows.blank() && header.size() > 1) continue;
    if (rows.size() != header.size()) {
      rows.refuse(rows.line(),
                  fmt::format("expected {} fields, as {}, got {}", header.size(),
                              options.header.empty() ? "in the header" : "CsvOptions::header has names", rows.size()));
    }
    for (std::size_t i = 0; i < builders.size(); ++i) {
      const std::string_view text = rows[places[i]];
      const bool missing = std::ranges::find(options.missing, text) != options.missing.end();
      const std::string why = missing ? builders[i].add_missing() : builders[i].add(text);
      if (why.empty()) continue;
      fail("csv", "{}, line {}, column {} (\"{}\"): {}", path, rows.line_of(places[i]), places[i] + 1,
           builders[i].name(), why);
    }
    ++size_;
  }
  for (ColumnBuilder& builder : builders) columns_.push_back(builder.finish());
}

}  // namespace tapegrad::data
