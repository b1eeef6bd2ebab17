#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/train/data/utf8.h>
#include <tapegrad/train/drawing/tables.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace tapegrad::drawing {
namespace {

// At most eight digits after the point, no trailing zeros: "0.2", "1.", "0.25130196", "-inf".
std::string numpy_number(double value) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  std::string text = fmt::format("{:.8f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

// Characters before the point, and from the point on.
struct Width {
  std::size_t before = 0, after = 0;
};
Width width_of(const std::string& number) {
  const std::size_t point = std::min(number.find('.'), number.size());
  return {point, number.size() - point};
}

const char* shade(float weight) {
  if (!std::isfinite(weight) || weight == 0) return " ";
  return weight < 0.02F ? "·" : weight < 0.1F ? "░" : weight < 0.3F ? "▒" : weight < 0.6F ? "▓" : "█";
}

// Characters of two columns (East Asian Width W and F) and of none (combining marks, and vowels and finals that join a
// Hangul initial), by first and last code.
struct Codes {
  uint32_t first, last;
};
constexpr Codes kWide[] = {{0x1100, 0x115f},  {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xa960, 0xa97c},
                           {0xac00, 0xd7a3},  {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff01, 0xff60},
                           {0xffe0, 0xffe6},  {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
                           {0x20000, 0x3fffd}};
constexpr Codes kNone[] = {{0, 0x1f},        {0x7f, 0x9f},     {0x300, 0x36f},   {0x1160, 0x11ff}, {0x200b, 0x200f},
                           {0x20d0, 0x20ff}, {0xd7b0, 0xd7ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}};

bool is_one_of(std::span<const Codes> ranges, uint32_t code) {
  return std::ranges::any_of(ranges, [&](Codes r) { return r.first <= code && code <= r.last; });
}

// The longest start of the text, in bytes, that fits into so many columns.
std::size_t bytes_within(std::string_view text, std::size_t columns) {
  std::size_t bytes = 0, used = 0;
  while (bytes < text.size()) {
    const data::Character next = data::first_character(text.substr(bytes));
    used += display_width(text.substr(bytes, static_cast<std::size_t>(next.bytes)));
    if (used > columns) break;
    bytes += static_cast<std::size_t>(next.bytes);
  }
  return bytes;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const data::Character next = data::first_character(text);
    width += is_one_of(kNone, next.code) ? 0 : is_one_of(kWide, next.code) ? 2 : 1;
    text.remove_prefix(static_cast<std::size_t>(next.bytes));
  }
  return width;
}

std::string padded(std::string_view text, std::size_t width) {
  return std::string(text) + std::string(width - std::min(width, display_width(text)), ' ');
}

std::string fixed(double value, int digits) {
  std::string text = fmt::format("{:.{}f}", value, digits);
  if (text.find_first_not_of("-0.") == std::string::npos && text.front() == '-') text.erase(0, 1);
  return text;
}

std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t sign = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > 3 + sign;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string bracket_table(const Tensor& x, const BracketTable& how) {
  if (x.numel() != static_cast<int64_t>(how.rows.size() * how.columns.size())) {
    fail("bracket_table", "expected {} rows and {} columns, got a tensor {}", how.rows.size(), how.columns.size(),
         x.shape());
  }
  const std::vector<double> values = x.to(kFloat64).to_vector<double>();
  std::string out(static_cast<std::size_t>(how.width), ' ');
  const auto width = static_cast<std::size_t>(how.width);
  for (const std::string& column : how.columns)
    out += std::string(width - std::min(width, display_width(column)), ' ') + column;
  out += '\n';
  for (std::size_t r = 0; r < how.rows.size(); ++r) {
    out += padded(how.rows[r], width);
    for (std::size_t c = 0; c < how.columns.size(); ++c) {
      const double value = values[r * how.columns.size() + c];
      const std::string cell = how.exponent ? fmt::format("{:.{}e}", value, how.digits) : fixed(value, how.digits);
      out += fmt::format("[{:>{}}]", cell, how.width - 2);
    }
    out += '\n';
  }
  return out;
}

std::string numpy_text(const Tensor& x) {
  const std::vector<double> values = x.to(kFloat64).to_vector<double>();
  std::vector<std::string> numbers;
  Width widest;
  for (const double value : values) {
    numbers.push_back(numpy_number(value));
    const Width width = width_of(numbers.back());
    widest = {std::max(widest.before, width.before), std::max(widest.after, width.after)};
  }
  const bool matrix = x.dim() == 2;
  const std::size_t columns = static_cast<std::size_t>(x.size(-1));
  const std::size_t cell = 1 + widest.before + widest.after;
  constexpr std::size_t kLine = 75;
  std::string out = matrix ? "[" : "";
  std::size_t used = 0;  // columns of the line
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Width width = width_of(numbers[i]);
    if (i % columns == 0) {
      out += i > 0 ? "\n [" : "[";
      used = matrix ? 1 : 0;
    } else if (used + cell > kLine) {
      out += matrix ? "\n  " : "\n ";
      used = matrix ? 1 : 0;
    } else {
      out += ' ';
    }
    used += cell;
    out += std::string(widest.before - width.before, ' ') + numbers[i] + std::string(widest.after - width.after, ' ');
    if (i % columns == columns - 1) out += "]";
  }
  return out + (matrix ? "]" : "");
}

std::string tuple_text(const Shape& shape) {
  std::string out = "(";
  for (const int64_t size : shape) out += fmt::format("{}{}", out.size() > 1 ? ", " : "", size);
  return out + (shape.rank() == 1 ? ",)" : ")");
}

std::string wrapped(std::string_view text, std::size_t indent) {
  constexpr std::size_t kWidth = kTerminalWidth;
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t gap = line.rfind("  ", kWidth / 2);
    std::size_t begin = gap == std::string::npos ? indent : std::min(line.find_first_not_of(' ', gap), kWidth / 2);
    const std::size_t margin = gap == std::string::npos ? indent : display_width(line.substr(0, begin));
    while (display_width(line) > kWidth) {
      const std::size_t space = line.rfind(' ', bytes_within(line, kWidth));
      if (space == std::string::npos || space <= begin) break;
      out += line.substr(0, space) + '\n';
      line = std::string(margin, ' ') + line.substr(space + 1);
      begin = margin;
    }
    out += line + '\n';
  }
  return out;
}

std::string shaded_maps(const std::vector<ShadedMap>& maps) {
  if (maps.empty()) return "";
  const std::size_t rows = maps.front().row_labels.size();
  const std::size_t columns = rows == 0 ? 0 : maps.front().weights.size() / rows;
  for (const ShadedMap& map : maps) {
    if (map.row_labels.size() != rows || map.weights.size() != rows * columns) {
      fail("shaded_maps", "expected {} rows and {} columns in every map, got {} rows and {} weights", rows, columns,
           map.row_labels.size(), map.weights.size());
    }
  }
  std::size_t label = 2, name = 0;
  for (const ShadedMap& map : maps) {
    name = std::max(name, display_width(map.name));
    for (const std::string& text : map.row_labels) label = std::max(label, display_width(text));
  }
  const std::size_t block = std::max(label + 1 + columns, name) + 3;
  const std::size_t together = std::max<std::size_t>(1, (kTerminalWidth + 3) / block);
  std::string out;
  const auto line = [&](std::size_t begin, const auto& part) {
    for (std::size_t i = begin; i < std::min(begin + together, maps.size()); ++i) out += padded(part(maps[i]), block);
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  };
  for (std::size_t begin = 0; begin < maps.size(); begin += together) {
    if (name > 0) line(begin, [](const ShadedMap& map) { return map.name; });
    for (std::size_t r = 0; r < rows; ++r) {
      line(begin, [&](const ShadedMap& map) {
        const std::string& text = map.row_labels[r];
        std::string row = std::string(label - display_width(text), ' ') + text + " ";
        for (std::size_t c = 0; c < columns; ++c) row += shade(map.weights[r * columns + c]);
        return row;
      });
    }
    out += '\n';
  }
  return out;
}

std::string_view shades_legend() { return "blank: masked, · below 0.02, ░ 0.1, ▒ 0.3, ▓ 0.6, █ above"; }

}  // namespace tapegrad::drawing
