// Writes a widget with its data and scripts.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/tasks/language/language.h>
#include <tapegrad/tasks/language/texts.h>
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

std::string_view widget_style() { return text_of_file("widgets/widget.css"); }

drawing::PageOptions widget_page() {
  return {.language = code_of(language_of_locale()), .style = widget_style(), .scripts = true};
}

}  // namespace tapegrad::tasks::tutorial
