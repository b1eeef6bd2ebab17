// Makes numbers comparable: the same digits, whatever brackets and spaces are around them.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/train.h>
#include <tapegrad/tutorials/numbers.h>

#include <algorithm>
#include <regex>
#include <sstream>
#include <utility>

namespace tapegrad::tasks::tutorial {
namespace {

template <class Written>
std::string rows_as(const Tensor& x, const Written& written) {
  const std::vector<double> values = x.to(kFloat64).to_vector<double>();
  const std::size_t columns = x.dim() == 0 ? 1 : static_cast<std::size_t>(x.size(-1));
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += i % columns == 0 ? '\n' : ' ';
    out += written(values[i]);
  }
  return out;
}

}  // namespace

Number same(std::string_view label, std::string ours) { return {.label = std::string(label), .ours = std::move(ours)}; }

Number different(std::string_view label, std::string ours) {
  return {.label = std::string(label), .ours = std::move(ours), .mark = Mark::different};
}

Number drawn(std::string_view label, std::string ours) {
  return {.label = std::string(label), .ours = std::move(ours), .mark = Mark::drawn};
}

Number own(std::string ours) {
  while (ours.ends_with('\n')) ours.pop_back();
  return {.ours = std::move(ours), .mark = Mark::own};
}

std::string rows_of(const Tensor& x, int digits) {
  return rows_as(x, [&](double value) { return drawing::fixed(value, digits); });
}

std::string exponent_rows_of(const Tensor& x, int digits) {
  return rows_as(x, [&](double value) { return fmt::format("{:.{}e}", value, digits); });
}

std::string numpy_rows(const Tensor& x) { return plain(drawing::numpy_text(x)); }

std::string Table::terminal() const {
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      int width = widths_.empty() ? 0 : widths_[std::min(i, widths_.size() - 1)];
      for (const auto& other : rows_)
        if (widths_.empty()) width = std::max(width, static_cast<int>(drawing::display_width(other[i])) + (i > 0));
      const std::size_t columns = static_cast<std::size_t>(std::abs(width));
      line += width < 0 || (widths_.empty() && i == 0 && named_)
                  ? drawing::padded(row[i], columns)
                  : std::string(columns - std::min(columns, drawing::display_width(row[i])), ' ') + row[i];
    }
    out += line.erase(line.find_last_not_of(' ') + 1) + '\n';
  }
  return out;
}

std::string Table::html() const {
  std::string out;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    out += "<tr>";
    for (std::size_t c = 0; c < rows_[r].size(); ++c)
      out += fmt::format("<{0}>{1}</{0}>", r < heads_ || (c == 0 && named_) ? "th" : "td",
                         drawing::escape_markup(rows_[r][c]));
    out += "</tr>\n";
  }
  return fmt::format("<div class=\"scroll\"><table class=\"cells\">{}</table></div>\n", out);
}

Table table_of(std::string_view text, const std::vector<std::string>& rows, const std::vector<std::string>& columns) {
  static const std::regex kGap(" +"), kWideGap("  +");
  const bool wide = text.find("  ") != text.npos;
  Table out({}, wide || !columns.empty() ? 1 : 0);
  if (!columns.empty()) out.rows_.push_back(columns);
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
    out.rows_.emplace_back(std::sregex_token_iterator(line.begin(), line.end(), wide ? kWideGap : kGap, -1),
                           std::sregex_token_iterator());
    if (rows.empty() && out.rows_.back().size() != out.rows_[0].size()) return Table();
  }
  std::size_t width = 0, at = 0;
  for (const auto& row : out.rows_) width = std::max(width, row.size());
  if (width < 2 && rows.empty()) return Table();
  if (!rows.empty() && out.rows_.size() != rows.size() + out.heads_)
    fail("tutorial", fmt::format("expected words of {} rows, got {}", out.rows_.size() - out.heads_, rows.size()));
  for (auto& row : out.rows_) {
    row.resize(width);
    if (!rows.empty()) row.insert(row.begin(), at < out.heads_ ? "" : rows[at - out.heads_]), ++at;
  }
  out.named_ = !rows.empty();
  return out;
}

std::string plain_shape(const Tensor& x) { return plain(str(x.shape())); }

std::string plain(std::string_view printed) {
  std::string out;
  for (const char c : printed) {
    const bool line = c == '\n', space = line || c == ' ' || c == '[' || c == ']' || c == ',';
    if (!space) {
      out += c;
    } else if (!out.empty() && out.back() != '\n' && (line || out.back() != ' ')) {
      if (out.back() == ' ') out.pop_back();
      out += line ? '\n' : ' ';
    }
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '\n')) out.pop_back();
  return out;
}

}  // namespace tapegrad::tasks::tutorial
