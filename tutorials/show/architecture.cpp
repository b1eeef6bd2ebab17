// The parts of a model (tutorial 003, section 8.4; tutorial 000): shapes, parameters, and the C++ that makes each.
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tutorials/show/architecture_models.h>
#include <tapegrad/tutorials/show/show.h>

namespace tapegrad::tasks {

Exhibit show_architecture(const ShowRequest& request) {
  using namespace architecture;
  const Architecture model = request.model.empty() ? architecture_of_copy() : architecture_of_file(request.model);
  const drawing::FlowChart chart = chart_of(model);
  return {.title = said("{}: its parts", model.title),
          .text = table_of(model),
          .drawings = draw_columns(chart),
          .whole = draw(chart)};
}

}  // namespace tapegrad::tasks
