// Writes an architecture as a drawing, a section of a page, and a table.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/tasks/architecture/architecture.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/page.h>
#include <tapegrad/train/drawing/tables.h>

namespace tapegrad::tasks::architecture {
namespace {

using drawing::grouped;

std::string counted(int64_t count) { return said("{} parameters", grouped(count)); }

std::string title_of(const Architecture& model) {
  return fmt::format("{}: {}", model.title, counted(model.parameters));
}

// What the letters in its shapes mean.
std::string letters_of(const Architecture& model) {
  std::vector<std::string> letters;
  for (const Stack& stack : model.stacks)
    if (!stack.letters.empty()) letters.push_back(stack.letters);
  return fmt::format("{}", fmt::join(letters, ", "));
}

// Parameters of one layer, where all are alike.
std::string note_of(const Stack& stack, const Layers& layers) {
  int64_t one = 0, all = 0;
  for (std::size_t i = layers.first; i <= layers.last; ++i) {
    one += stack.parts[i].count;
    all += stack.parts[i].all;
  }
  return one * layers.times == all ? said("each {}", grouped(one)) : said("together {}", grouped(all));
}

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

// A part, after the line that begins its layers; the C++ is a line of its own.
void rows(std::string& out, const Stack& stack, std::size_t index) {
  const Part& part = stack.parts[index];
  std::string_view indent;
  for (const Layers& layers : stack.layers) {
    if (index == layers.first) {
      out += layers.times == 1 ? said("1 layer, {}:\n", note_of(stack, layers))
                               : said("{} layers, {}:\n", layers.times, note_of(stack, layers));
    }
    if (index >= layers.first && index <= layers.last) indent = "  ";
  }
  const std::string_view name = part.step.adds ? part.step.code[0] : part.step.title;
  // What acts next to the flow has no input, and may need the space of two columns.
  const std::string shapes =
      part.input.empty() ? part.step.output : fmt::format("{:<15}{}", part.input, part.step.output);
  std::string line = fmt::format("{:<38}{:<30}{:>12}", fmt::format("{}{}", indent, name), shapes,
                                 part.count > 0 ? grouped(part.count) : "");
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
  if (part.step.adds) return;
  for (const std::string& code : part.step.code)
    out += drawing::wrapped(fmt::format("{}    {}\n", indent, code), indent.size() + 8);
}

}  // namespace

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

std::string table_of(const Architecture& model) {
  const std::string letters = letters_of(model);
  std::string out = fmt::format("{}\n{}{}", title_of(model), letters, letters.empty() ? "" : "\n");
  for (const Stack& stack : model.stacks) {
    out += stack.name.empty() ? "" : fmt::format("\n{}: {}\n", stack.name, counted(parameters_of(stack)));
    out += fmt::format("\n{:<38}{:<15}{:<15}{:>12}\n", said("part"), said("in"), said("out"), said("parameters"));
    for (std::size_t i = 0; i < stack.parts.size(); ++i) rows(out, stack, i);
  }
  return out;
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
