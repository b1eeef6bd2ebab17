// Writes a widget with its data and scripts.
#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/tasks/tutorial/language.h>
#include <tapegrad/tasks/tutorial/sources.h>
#include <tapegrad/tasks/tutorial/widget.h>

namespace tapegrad::tasks::tutorial {

std::string widget_html(std::string_view name, const nlohmann::ordered_json& data) {
  return fmt::format(
      "<div class=\"touch\" data-widget=\"{}\">\n<script type=\"application/json\">{}</script>\n</div>\n"
      "<script>\n{}{}touch.start();\n</script>\n",
      name, drawing::json_in_script(json::text_of(data)), script("common"), script(name));
}

std::string_view widget_style() {
  return R"(:root { --heat: #0b5394; } @media (prefers-color-scheme: dark) { :root { --heat: #6db8ff; } }
.widget, .scroll { overflow-x: auto; }
.touch label { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; margin: 4px 0; } .touch input[type=range] { flex: 1 1 140px; min-width: 0; }
.slider > span { flex: 0 1 120px; } .slider > output { flex: 0 0 60px; text-align: right; font-variant-numeric: tabular-nums; }
.cells { width: auto; font-size: 12px; } .cells td, .cells th { padding: 3px 6px; text-align: right; border: 1px solid var(--edge); white-space: nowrap; }
.tokens { display: flex; flex-wrap: wrap; gap: 4px; margin: 4px 0 10px; align-items: center; } select, button, input { font: inherit; max-width: 100%; }
.sides { display: flex; flex-wrap: wrap; gap: 12px; align-items: flex-start; } .sides > * { max-width: 100%; min-width: 0; }
.chosen { outline: 2px solid var(--heat); } .soft { color: var(--soft); font-size: 12px; }
button.soft { background: none; border: 1px solid var(--edge); border-radius: 4px; }
)";
}

drawing::PageOptions widget_page() {
  return {.language = code_of(language_of_locale()), .style = widget_style(), .scripts = true};
}

}  // namespace tapegrad::tasks::tutorial
