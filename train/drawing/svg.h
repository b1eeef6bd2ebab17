// Drawings in SVG, which are readable on light and dark pages and refer to no other file.
#pragma once

#include <tapegrad/autograd/compiler.h>

#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::drawing {

/// The contents of an <svg> element, and its size in pixels. charts.h and heatmap.h make drawings.
struct Drawing {
  double width = 0;   ///< in pixels
  double height = 0;  ///< in pixels
  std::string body;   ///< SVG elements, without the <svg> around them
};

/// Drawings side by side, `columns` per row; each column is as wide as its widest drawing. Error below one column.
Drawing grid(const std::vector<Drawing>& parts, int columns);

/// A complete file, with its colours.
std::string svg_file(const Drawing& drawing);
/// A complete element for an HTML page whose style has drawing_style(); page() of page.h includes it.
std::string svg_element(const Drawing& drawing);
/// The CSS rules that colour drawings, drawing.css: plain colours without variables, which viewers other than browsers
/// do not support. The eight colours are those of Okabe and Ito, which the colour-blind tell apart; on dark pages,
/// lighter ones.
std::string_view drawing_style();

// ---- to draw something else ----

/// Sizes of text: 14, 12 and 11 pixels; code: 11, in a typewriter face.
enum class Type { title, normal, small, code };
/// Appends a <text> element at (x, y), which is its start, middle or end as `anchor` says. `more`: further attributes.
void write_text(std::string& out, double x, double y, std::string_view anchor, std::string_view what,
                Type type = Type::normal, std::string_view more = "");
/// The width of a text in pixels, in DejaVu Sans or DejaVu Sans Mono, the widest of the fonts that browsers choose.
double text_width(std::string_view text, Type type = Type::normal);
/// The text with &, <, > and quotes escaped, for SVG and HTML, and U+FFFD in place of bytes that are not UTF-8 and of
/// control characters other than tab and line breaks.
std::string escape_markup(std::string_view text);

}  // namespace tapegrad::drawing
