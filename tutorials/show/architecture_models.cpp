// The topic architecture (tutorial 003, section 8.4; tutorial 000): shapes, parameters, and the C++ that makes each
// part of a model. The model is that of the copy task, or a trained one in a file.
#include <fmt/format.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/tasks/gpt/model.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/run/model_file.h>
#include <tapegrad/tasks/seq2seq/recipe.h>
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/train/drawing/tables.h>
#include <tapegrad/tutorials/show/architecture_models.h>
#include <tapegrad/tutorials/show/show.h>

namespace tapegrad::tasks {
namespace architecture {
namespace {

// A part, after the line that begins its layers. In a terminal, its C++ is a line of its own; the drawing has it, too.
void rows(std::string& out, Table& table, const Stack& stack, std::size_t index) {
  const Part& part = stack.parts[index];
  std::string_view indent;
  for (const Layers& layers : stack.layers) {
    if (index == layers.first) {
      const std::string head = layers.times == 1 ? said("1 layer, {}:\n", note_of(stack, layers))
                                                 : said("{} layers, {}:\n", layers.times, note_of(stack, layers));
      out += head, table.row(head);
    }
    if (index >= layers.first && index <= layers.last) indent = "  ";
  }
  const std::string_view name = part.step.adds ? part.step.code[0] : part.step.title;
  // What acts next to the flow has no input, and may need the space of two columns.
  const std::string shapes =
      part.input.empty() ? part.step.output : fmt::format("{:<15}{}", part.input, part.step.output);
  const std::string count = part.count > 0 ? drawing::grouped(part.count) : "";
  table.row(name, part.input, part.step.output, count);
  std::string line = fmt::format("{:<38}{:<30}{:>12}", fmt::format("{}{}", indent, name), shapes, count);
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
  if (part.step.adds) return;
  for (const std::string& code : part.step.code)
    out += drawing::wrapped(fmt::format("{}    {}\n", indent, code), indent.size() + 8);
}

}  // namespace

Notes table_of(const Architecture& model) {
  const std::string letters = letters_of(model);
  Notes out(fmt::format("{}\n{}{}", title_of(model), letters, letters.empty() ? "" : "\n"));
  for (const Stack& stack : model.stacks) {
    out += stack.name.empty() ? "" : fmt::format("\n{}: {}\n", stack.name, counted(parameters_of(stack)));
    std::string text =
        fmt::format("\n{:<38}{:<15}{:<15}{:>12}\n", said("part"), said("in"), said("out"), said("parameters"));
    Table table;
    table.row(said("part"), said("in"), said("out"), said("parameters"));
    for (std::size_t i = 0; i < stack.parts.size(); ++i) rows(text, table, stack, i);
    out.add(text, table.html());
  }
  return out;
}

Architecture architecture_of_copy() {
  manual_seed(0);
  auto options = task_named("copy").defaults();
  resolve(options);
  nn::Transformer model(options.model());
  return architecture_of(model, said("Transformer of the copy task"));
}

Architecture architecture_of_file(const std::string& path) {
  const FoundModel found = find_model("--model", path);
  const std::string task = found.source == ModelSource::run ? task_of_model(found.path) : kGPTTask;
  if (task == kGPTTask) {
    TrainedGPT trained = load_gpt(path, {.with_tokenizer = false});
    return architecture_of(trained.model);
  }
  Seq2SeqRecipe trained(task_of_given_model(task));
  load_model(trained, found.path);
  return architecture_of(trained.transformer(), said("Transformer of the {} task", task));
}

}  // namespace architecture

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
