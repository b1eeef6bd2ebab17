// Self-contained HTML pages in one style, which follow the browser's light or dark mode.
#pragma once

#include <tapegrad/train/drawing/svg.h>

#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::drawing {

struct PageOptions {
  std::string_view language = "en";  ///< of the text, for <html lang>
  std::string_view style = {};       ///< CSS rules that follow the page's own
  bool scripts = false;              ///< scripts in `body` run
};
/// A complete page around `body`, which is HTML; the title is escaped. Its style knows the classes card, facts and
/// fact, outcome (a sentence that counts most), maps (cards side by side, as many as fit; small maps: four in a row,
/// which a click enlarges), scaled (a heading and its colour scale), wrong and good. A Content-Security-Policy lets it
/// load nothing, and run no script but its own, whose links save the drawings of cards, unless `options` says so.
std::string page(std::string_view title, std::string_view body, const PageOptions& options = {});

/// JSON as the text of a script element, which "</script>" or "<!--" in a string would change: every < is escaped.
std::string json_in_script(std::string_view json);

/// Appends a drawing in a frame to the HTML in `out`, with a line below it. On narrow screens it shrinks to 70 %, then
/// scrolls.
void card(std::string& out, const Drawing& drawing, std::string_view below = {});
/// The same for a drawing that is wider than a narrow screen: there, its parts take its place, one below the other.
void card(std::string& out, const Drawing& drawing, const std::vector<Drawing>& parts);

}  // namespace tapegrad::drawing
