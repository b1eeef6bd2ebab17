#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
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
  fmt::format_to(std::back_inserter(out), "<text{} x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n",
                 font_class(type), x, y, anchor, more, escape_markup(what));
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
    fmt::format_to(std::back_inserter(out.body), "<g transform=\"translate({:g} {:g})\">\n{}</g>\n", x, out.height,
                   parts[i].body);
    x += wide[i % per_row];
    out.width = std::max(out.width, x);
    row_height = std::max(row_height, parts[i].height);
  }
  out.height += row_height;
  return out;
}

// Plain colours without CSS variables, which viewers other than browsers do not support.
std::string_view drawing_style() {
  // The eight colours are those of Okabe and Ito, which the colour-blind tell apart, for a dark page lighter ones.
  return R"(svg text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: #5a6675; }
svg text.title { font-size: 14px; font-weight: 600; fill: #1c2430; }
svg text.small { font-size: 11px; } svg text.code { font: 11px ui-monospace, "DejaVu Sans Mono", monospace; }
svg .on-paper text, svg .on-mid text { fill: #000000; } svg .on-ink text { fill: #ffffff; }
svg .rule { stroke: #dfe4ea; fill: none; } svg .zero { stroke: #9aa5b1; fill: none; }
svg .frame { stroke: #dfe4ea; fill: none; }
svg .paper { fill: #ffffff; }
svg .branch { stroke: #5a6675; fill: none; } svg text.label { fill: #1c2430; }
svg .node { fill: #ffffff; stroke: #1f6fb4; } svg .node.wrong { stroke: #c2571a; stroke-width: 2.5; }
svg .heat { fill: #0b5394; } svg .warm { fill: #a02c16; } svg .blocked { fill: #e9ecf0; }
svg .heat, svg .warm, svg .blocked { shape-rendering: crispEdges; }
svg .line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
svg .faint { stroke-width: 1; stroke-opacity: 0.5; } svg .band { fill-opacity: 0.25; }
svg .line.c2 { stroke-dasharray: 9 3; } svg .line.c3 { stroke-dasharray: 2 3; } svg .line.c4 { stroke-dasharray: 9 3 2 3; }
svg .line.c5 { stroke-dasharray: 14 4; } svg .line.c6 { stroke-dasharray: 5 2; } svg .line.c7 { stroke-dasharray: 1 4; }
svg .branch.dashed, svg .line.dashed { stroke-dasharray: 6 4; }
svg .c0 { stroke: #0072b2; } svg .c1 { stroke: #d55e00; } svg .c2 { stroke: #009e73; } svg .c3 { stroke: #cc79a7; }
svg .c4 { stroke: #56b4e9; } svg .c5 { stroke: #e69f00; } svg .c6 { stroke: #000000; } svg .c7 { stroke: #7a5230; }
svg .f0 { fill: #0072b2; } svg .f1 { fill: #d55e00; } svg .f2 { fill: #009e73; } svg .f3 { fill: #cc79a7; }
svg .f4 { fill: #56b4e9; } svg .f5 { fill: #e69f00; } svg .f6 { fill: #000000; } svg .f7 { fill: #7a5230; }
@media (prefers-color-scheme: dark) {
  svg text { fill: #a3afbd; } svg text.title { fill: #e6eaf0; }
  svg .on-paper text { fill: #ffffff; } svg .on-mid text, svg .on-ink text { fill: #000000; }
  svg .rule { stroke: #353d48; } svg .zero { stroke: #6b7683; } svg .frame { stroke: #353d48; }
  svg .paper { fill: #171b21; }
  svg .branch { stroke: #a3afbd; } svg text.label { fill: #e6eaf0; }
  svg .node { fill: #171b21; stroke: #63aef0; } svg .node.wrong { stroke: #f09a5c; }
  svg .heat { fill: #6db8ff; } svg .warm { fill: #ff9a7a; } svg .blocked { fill: #2a313a; }
  svg .c0 { stroke: #4aa3e0; } svg .c1 { stroke: #f09a5c; } svg .c2 { stroke: #019975; } svg .c3 { stroke: #faa8c1; }
  svg .c4 { stroke: #cbd0ff; } svg .c5 { stroke: #f6f06e; } svg .c6 { stroke: #ffffff; } svg .c7 { stroke: #788397; }
  svg .f0 { fill: #4aa3e0; } svg .f1 { fill: #f09a5c; } svg .f2 { fill: #019975; } svg .f3 { fill: #faa8c1; }
  svg .f4 { fill: #cbd0ff; } svg .f5 { fill: #f6f06e; } svg .f6 { fill: #ffffff; } svg .f7 { fill: #788397; }
}
)";
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
