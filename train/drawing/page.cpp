#include <fmt/format.h>
#include <tapegrad/train/drawing/page.h>

namespace tapegrad::drawing {

// page.css and page.js, which cmake/libraries.cmake makes parts of the library, as drawing.css.
std::string_view page_style();
std::string_view page_script();

namespace {

// Of page.js, which adds links that save drawings. A page whose other scripts must not run allows this one by its hash,
// which tests/pages.sh checks: openssl dgst -sha256 -binary | base64.
constexpr std::string_view kSaveHash = "'sha256-+/Xn/bS+YHbMZ2q3uIZTrq47Ab0JOysdmiprVQ4BQ2M='";

}  // namespace

std::string page(std::string_view title, std::string_view body, const PageOptions& options) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "img-src data:; script-src {}; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>{}</title>\n<style>\n{}</style>\n<style id=\"drawing\">\n{}</style>\n"
      "<style>\n{}</style>\n</head>\n<body>\n<main>\n{}</main>\n<script id=\"save\">{}</script>\n</body>\n</html>\n",
      escape_markup(options.language), options.scripts ? "'unsafe-inline'" : kSaveHash, escape_markup(title),
      page_style(), drawing_style(), options.style, body, page_script());
}

std::string json_in_script(std::string_view json) {
  std::string out;
  for (const char c : json) c == '<' ? out += "\\u003c" : out += c;
  return out;
}

void card(std::string& out, const Drawing& drawing, std::string_view below) {
  constexpr double kLeast = 0.7;  // of the drawing's own size
  constexpr double kWide = 540;   // wider drawings take a whole row
  out += fmt::format("<div class=\"card{}\" style=\"--least: {:.0f}px\"{}>\n{}", drawing.width > kWide ? " wide" : "",
                     kLeast * drawing.width, below.empty() ? "" : " tabindex=\"0\"", svg_element(drawing));
  out += below.empty() ? "</div>\n" : fmt::format("<small>{}</small></div>\n", escape_markup(below));
}

void card(std::string& out, const Drawing& drawing, const std::vector<Drawing>& parts) {
  if (parts.size() < 2) return card(out, drawing);
  out += "<div class=\"whole\">\n";
  card(out, drawing);
  out += "</div>\n<div class=\"parts\">\n";
  for (const Drawing& part : parts) card(out, part);
  out += "</div>\n";
}

}  // namespace tapegrad::drawing
