// Writes a widget with its data and scripts.
#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/tasks/language/language.h>
#include <tapegrad/tasks/language/texts.h>
#include <tapegrad/tutorials/widgets/widget.h>

namespace tapegrad::tasks::tutorial {

std::string_view script(std::string_view name) { return text_of_file(fmt::format("tutorials/widgets/{}.js", name)); }

std::string widget_html(std::string_view name, const Json& data) {
  return fmt::format(
      "<div class=\"touch\" data-widget=\"{}\">\n<script type=\"application/json\">{}</script>\n</div>\n"
      "<script>\n{}{}touch.start();\n</script>\n",
      name, drawing::json_in_script(json::text_of(data)), script("common"), script(name));
}

std::string_view widget_style() { return text_of_file("tutorials/widgets/widget.css"); }

drawing::PageOptions widget_page() {
  return {.language = code_of(language_of_locale()), .style = widget_style(), .scripts = true};
}

}  // namespace tapegrad::tasks::tutorial
