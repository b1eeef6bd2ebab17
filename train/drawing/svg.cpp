#include <fmt/format.h>
#include <tapegrad/autograd/limits.h>
#include <tapegrad/train/data/utf8.h>
#include <tapegrad/train/drawing/svg.h>

#include <algorithm>

namespace tapegrad::drawing {
namespace {

double font_size(Type type) { return type == Type::title ? 14 : type == Type::normal ? 12 : 11; }

std::string_view font_class(Type type) {
  switch (type) {
    case Type::title: return " class=\"title\"";
    case Type::small: return " class=\"small\"";
    case Type::code: return " class=\"code\"";
    case Type::normal: break;
  }
  return "";
}

// Widths of the characters ' ' to '~' in DejaVu Sans, in hundredths of the font size.
constexpr unsigned char kAdvances[] = {32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36,  32, 34, 64, 64, 64,
                                       64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63,
                                       58, 77, 75, 29, 29, 66, 56, 86, 75, 79, 60, 79, 69, 63,  61, 73, 68, 99, 69,
                                       61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35,  63, 63, 28, 28, 58,
                                       28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59, 82, 59, 59,  52, 64, 34, 64, 84};

}  // namespace

void write_text(std::string& out, double x, double y, std::string_view anchor, std::string_view what, Type type,
                std::string_view more) {
  out += fmt::format("<text{} x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", font_class(type), x, y,
                     anchor, more, escape_markup(what));
}

double text_width(std::string_view text, Type type) {
  double units = 0;  // hundredths of the font size
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0) == 0x80) continue;            // a later byte of a character
    const bool wide = byte >= 0xE3 && byte < 0xEE;  // of Chinese, Japanese and Korean, which are square
    units += type == Type::code && !wide ? 60.2 : c >= 32 && c < 127 ? kAdvances[c - 32] : wide ? 100 : 84;
  }
  return units / 100 * font_size(type) * (type == Type::title ? 1.14 : 1);
}

std::string escape_markup(std::string_view text) {
  std::string out;
  for (const char c : data::valid_utf8(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: {
        const auto code = static_cast<unsigned char>(c);
        const bool control = (code < 0x20 && c != '\t' && c != '\n' && c != '\r') || code == 0x7f;  // not in XML
        out += control ? std::string_view("\xef\xbf\xbd") : std::string_view(&c, 1);
      }
    }
  }
  return out;
}

Drawing grid(const std::vector<Drawing>& parts, int columns) {
  require_in("grid", "columns", columns, {.least = 1});
  const auto per_row = static_cast<std::size_t>(columns);
  std::vector<double> wide(per_row, 0);
  for (std::size_t i = 0; i < parts.size(); ++i) wide[i % per_row] = std::max(wide[i % per_row], parts[i].width);
  Drawing out;
  double x = 0, row_height = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && i % per_row == 0) {
      out.height += row_height;
      x = row_height = 0;
    }
    out.body += fmt::format("<g transform=\"translate({:g} {:g})\">\n{}</g>\n", x, out.height, parts[i].body);
    x += wide[i % per_row];
    out.width = std::max(out.width, x);
    row_height = std::max(row_height, parts[i].height);
  }
  out.height += row_height;
  return out;
}

std::string svg_element(const Drawing& drawing) {
  return fmt::format("<svg viewBox=\"0 0 {:g} {:g}\" width=\"{:g}\" height=\"{:g}\" role=\"img\">\n{}</svg>\n",
                     drawing.width, drawing.height, drawing.width, drawing.height, drawing.body);
}

std::string svg_file(const Drawing& drawing) {
  constexpr double kMargin = 12;
  const double width = drawing.width + 2 * kMargin, height = drawing.height + 2 * kMargin;
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} "
      "{1:g}\" "
      "width=\"{0:g}\" height=\"{1:g}\">\n<style>\n{2}</style>\n<rect width=\"100%\" height=\"100%\" "
      "class=\"paper\"/>\n<g transform=\"translate({3:g} {3:g})\">\n{4}</g>\n</svg>\n",
      width, height, drawing_style(), kMargin, drawing.body);
}

}  // namespace tapegrad::drawing
