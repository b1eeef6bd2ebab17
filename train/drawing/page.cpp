#include <fmt/format.h>
#include <tapegrad/train/drawing/page.h>

namespace tapegrad::drawing {
namespace {

constexpr std::string_view kPageStyle =
    R"(:root { color-scheme: light dark; --bg: #f6f7f9; --card: #ffffff; --text: #1c2430;
  --soft: #5a6675; --edge: #dfe4ea; --good: #23753e; --bad: #b83232; }
@media (prefers-color-scheme: dark) {
  :root { --bg: #0f1216; --card: #171b21; --text: #e6eaf0; --soft: #a3afbd; --edge: #2b323c; --good: #67c987; --bad: #ff8a80; }
}
body { margin: 0; background: var(--bg); color: var(--text); font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; overflow-wrap: break-word; }
:lang(ko) { word-break: keep-all; }
main { max-width: 1080px; margin: 0 auto; padding: 24px 20px 60px; }
h1 { font-size: 24px; margin: 8px 0 0; } h2 { font-size: 17px; margin: 34px 0 10px; }
p { color: var(--soft); margin: 6px 0; max-width: 75ch; }
.card { background: var(--card); border: 1px solid var(--edge); border-radius: 8px; padding: 14px; margin: 12px 0; overflow-x: auto; position: relative; }
.save { position: absolute; top: 2px; right: 8px; font-size: 12px; opacity: 0; cursor: pointer; color: var(--text); background: var(--card); }
.card:hover .save, .save:focus { opacity: 1; }
.tips :hover { stroke: var(--text); }
.facts { display: flex; flex-wrap: wrap; gap: 12px; margin: 16px 0; }
.fact { background: var(--card); border: 1px solid var(--edge); border-radius: 8px; padding: 10px 16px; }
.fact b { display: block; font-size: 20px; } .fact span { color: var(--soft); font-size: 13px; }
.maps { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(410px, 100%), 1fr)); gap: 12px; margin: 12px 0; }
.maps .card { margin: 0; min-width: 0; } .maps .wide { grid-column: 1 / -1; }
.thirds.maps { grid-template-columns: repeat(auto-fit, minmax(min(320px, 100%), 1fr)); }
.scaled { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 4px 20px; }
.small.maps { grid-template-columns: repeat(auto-fill, minmax(min(235px, 100%), 1fr)); } .small.maps .card { padding: 8px; cursor: zoom-in; }
.small.maps .card:focus { grid-column: 1 / -1; } .small.maps .card:focus svg { width: min(100%, 640px); height: auto; }
.card small, .settings td + td { color: var(--soft); font-size: 13px; }
.whole, .parts { grid-column: 1 / -1; min-width: 0; } .parts { display: none; }
@media (max-width: 820px) { .whole { display: none; } .parts { display: block; } .parts .card { margin: 0 0 12px; } }
.card svg { min-width: var(--least); max-width: 100%; height: auto; display: block; margin: 0 auto; }
pre { font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", monospace; margin: 0; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: 5px 12px 5px 0; border-bottom: 1px solid var(--edge);
  vertical-align: top; } th { color: var(--soft); font-weight: 500; white-space: nowrap; }
td { font-variant-numeric: tabular-nums; word-break: keep-all; } .wrong { color: var(--bad); font-weight: 700; } .good { color: var(--good); }
.fact, .outcome { overflow-wrap: anywhere; } .settings td:nth-child(2) { min-width: 8em; } .verdict { white-space: nowrap; } .outcome { color: var(--text); font-size: 18px; font-weight: 600; margin: 10px 0; }
.boxes { display: flex; flex-wrap: wrap; gap: 2px; margin: 3px 0; } .boxes i { min-width: 22px; padding: 1px 2px; box-sizing: border-box; text-align: center;
  font: 13px/1.4 ui-monospace, "DejaVu Sans Mono", monospace; border: 1px solid var(--edge); border-radius: 4px; } .boxes .wrong { border-color: var(--bad); }
details { margin: 6px 0 14px; } summary { cursor: pointer; }
.outcome.good { color: var(--good); } .outcome.wrong { color: var(--bad); }
@media (max-width: 560px) { .settings tr { display: grid; grid-template-columns: 1fr auto; border-bottom: 1px solid var(--edge); }
  .settings td, .settings th { border: 0; padding-right: 0; } .settings td + td { grid-column: 1 / -1; padding-top: 0; }
  main { padding: 12px 8px 40px; } .card { padding: 8px; } th { white-space: normal; } }
)";

// Adds links that save drawings. A page whose other scripts must not run allows this one by its hash, which
// tests/pages.sh checks: openssl dgst -sha256 -binary | base64.
constexpr std::string_view kSave = R"(
for (const svg of document.querySelectorAll(".card:not(.touch) > svg")) {
  const link = document.createElement("a");
  link.className = "save";
  link.textContent = "SVG";
  link.download = "drawing.svg";
  link.href = "#";
  link.onclick = () => {
    const copy = svg.cloneNode(true), style = document.createElementNS(svg.namespaceURI, "style");
    style.textContent = document.getElementById("drawing").textContent;
    copy.prepend(style);
    link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], {type: "image/svg+xml"}));
  };
  svg.after(link);
}
)";
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
      kPageStyle, drawing_style(), options.style, body, kSave);
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
