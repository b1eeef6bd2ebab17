// Writes a widget with its data and scripts.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/tasks/language/language.h>
#include <tapegrad/tasks/widgets/widget.h>

#include <algorithm>

namespace tapegrad::tasks::tutorial {
std::string_view script(std::string_view name) {
  const std::span<const Script> all = scripts();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Script& one) { return one.name == name; });
  if (found == all.end()) fail("widget", fmt::format("unknown script \"{}\"", name));
  return found->text;
}

std::string widget_html(std::string_view name, const nlohmann::ordered_json& data) {
  return fmt::format(
      "<div class=\"touch\" data-widget=\"{}\">\n<script type=\"application/json\">{}</script>\n</div>\n"
      "<script>\n{}{}touch.start();\n</script>\n",
      name, drawing::json_in_script(json::text_of(data)), script("common"), script(name));
}

std::string_view widget_style() {
  return R"(:root { --heat: #0b5394; --warm: #a02c16; --blocked: #e9ecf0; }
@media (prefers-color-scheme: dark) { :root { --heat: #6db8ff; --warm: #ff9a7a; --blocked: #2a313a; } }
.widget, .scroll { overflow-x: auto; }
.touch label { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; margin: 4px 0; } .touch input[type=range] { flex: 1 1 140px; min-width: 0; }
.slider > span { flex: 0 1 120px; } .slider > output { flex: 0 0 60px; text-align: right; font-variant-numeric: tabular-nums; }
.cells { width: auto; font-size: 12px; } .cells td, .cells th { padding: 3px 6px; text-align: right; border: 1px solid var(--edge); white-space: nowrap; }
.tokens { display: flex; flex-wrap: wrap; gap: 4px; margin: 4px 0 10px; align-items: center; } select, button, input { font: inherit; max-width: 100%; }
.sides { display: flex; flex-wrap: wrap; gap: 12px; align-items: flex-start; } .sides > * { max-width: 100%; min-width: 0; }
.chosen { outline: 2px solid var(--heat); } .soft { color: var(--soft); font-size: 12px; }
button { background: var(--card); color: var(--text); border: 1px solid var(--edge); border-radius: 4px; padding: 2px 8px; } button:disabled { opacity: 0.5; }
.cells th:first-child { position: sticky; left: 0; background: var(--card); min-width: 4em; max-width: 9em; white-space: normal; word-break: keep-all; }
.bars { width: auto; } .bars th, .bars td { padding: 2px 10px 2px 0; border: 0; } .bars svg { display: block; margin: 6px 0 0; }
.touch svg { min-width: 0; max-width: none; }
.arc { fill: none; } .token { fill: var(--card); stroke: var(--edge); } .step { cursor: pointer; } .step:last-child .token { stroke: var(--heat); stroke-width: 2; } h4 { margin: 8px 0 4px; font-size: 13px; }
button.soft { background: none; border: 1px solid var(--edge); border-radius: 4px; }
)";
}

drawing::PageOptions widget_page() {
  return {.language = code_of(language_of_locale()), .style = widget_style(), .scripts = true};
}

}  // namespace tapegrad::tasks::tutorial
