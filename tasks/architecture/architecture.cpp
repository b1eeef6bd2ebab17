// Writes an architecture as a drawing, and as a section of a page.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/tasks/architecture/architecture.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/page.h>
#include <tapegrad/train/drawing/tables.h>

namespace tapegrad::tasks::architecture {
namespace {

using drawing::grouped;

drawing::FlowColumn column_of(const Architecture& model, const Stack& stack) {
  drawing::FlowColumn column{
      .title = fmt::format("{}: {}", stack.name.empty() ? model.title : stack.name, counted(parameters_of(stack))),
      .input = stack.input,
      .output = stack.output,
      .input_shape = stack.input_shape};
  for (const Part& part : stack.parts) {
    drawing::FlowStep step = part.step;
    if (part.count > 0) step.note = grouped(part.count);
    column.steps.push_back(std::move(step));
  }
  for (const Layers& layers : stack.layers)
    column.frames.push_back(
        {layers.first, layers.last, fmt::format("\u00d7 {}", layers.times), note_of(stack, layers)});
  return column;
}

}  // namespace

std::string counted(int64_t count) { return said("{} parameters", grouped(count)); }

std::string title_of(const Architecture& model) {
  return fmt::format("{}: {}", model.title, counted(model.parameters));
}

std::string letters_of(const Architecture& model) {
  std::vector<std::string> letters;
  for (const Stack& stack : model.stacks)
    if (!stack.letters.empty()) letters.push_back(stack.letters);
  return fmt::format("{}", fmt::join(letters, ", "));
}

std::string note_of(const Stack& stack, const Layers& layers) {
  int64_t one = 0, all = 0;
  for (std::size_t i = layers.first; i <= layers.last; ++i) {
    one += stack.parts[i].count;
    all += stack.parts[i].all;
  }
  return one * layers.times == all ? said("each {}", grouped(one)) : said("together {}", grouped(all));
}

int64_t parameters_of(const Stack& stack) {
  int64_t count = 0;
  for (const Part& part : stack.parts) count += part.all;
  return count;
}

drawing::FlowChart chart_of(const Architecture& model) {
  drawing::FlowChart chart;
  for (const Stack& stack : model.stacks) chart.columns.push_back(column_of(model, stack));
  return chart;
}

std::string section_of(const Architecture& model) {
  const drawing::FlowChart chart = chart_of(model);
  std::string out =
      fmt::format("<h2>{}</h2>\n<p>{} {}.</p>\n<details><summary>{}</summary>\n", said("Architecture"),
                  said("The parts in the order of the computation: what flows between them, their parameters, and the "
                       "C++ that makes each."),
                  letters_of(model), drawing::escape_markup(title_of(model)));
  drawing::card(out, draw(chart), draw_columns(chart));
  return out + "</details>\n";
}

}  // namespace tapegrad::tasks::architecture
