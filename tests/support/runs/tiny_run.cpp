// The settings of tiny runs, and their command lines.
#include <tapegrad/tasks/seq2seq/copy/copy.h>
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/tests/support/runs/tiny_run.h>

#include <algorithm>

namespace tapegrad::tests {
namespace {

tasks::RunOptions unresolved(const std::string& task) {
  tasks::RunOptions o = tasks::task_named(task).defaults();
  o.config.hidden_size = 8;
  o.config.num_hidden_layers = 1;
  o.config.intermediate_size = 16;
  o.batch_size = 4;
  o.num_epochs = 2;
  o.steps_per_epoch = 10;
  if (task == "copy") {
    o.config.vocab_size = 6;
    o.of<tasks::CopyTask>().seq_length = 4;
  }
  return o;
}

}  // namespace

std::vector<std::string> names_of_tasks() {
  std::vector<std::string> names;
  for (const tasks::TaskInfo* task : tasks::all_tasks()) names.emplace_back(task->name);
  return names;
}

tasks::RunOptions tiny_options(const std::string& task) {
  tasks::RunOptions o = unresolved(task);
  tasks::resolve(o);
  return o;
}

Arguments as_arguments(const tasks::Fields& settings, const tasks::Fields& usual) {
  Arguments out;
  for (const tasks::Field& field : settings) {
    const tasks::Field* other = usual.find(field.setting.name);
    if (other != nullptr && field.text() == other->text()) continue;
    out.push_back(field.setting.option());
    if (!std::holds_alternative<bool*>(field.value)) out.push_back(field.text());
  }
  return out;
}

Arguments with_options(Arguments first, const Arguments& usual, const Arguments& more) {
  for (std::size_t i = 0; i + 1 < usual.size(); i += 2)
    if (std::find(more.begin(), more.end(), usual[i]) == more.end())
      first.insert(first.end(), {usual[i], usual[i + 1]});
  return joined(std::move(first), more);
}

Arguments tiny_run(const std::string& task, const std::string& out, const Arguments& more) {
  tasks::RunOptions tiny = unresolved(task), usual = tasks::task_named(task).defaults();
  const Arguments own =
      joined(as_arguments(tasks::fields_of(tiny), tasks::fields_of(usual)), {"--checkpoint-every", "7"});
  return with_options({"train", task, "--out", out}, own, more);
}

Ran train_tiny(const TemporaryFolder& folder, const std::string& task, const std::string& out, const Arguments& more,
               const char* file, int line) {
  return successful(run_command(tiny_run(task, folder / out, more), folder), file, line);
}

}  // namespace tapegrad::tests
