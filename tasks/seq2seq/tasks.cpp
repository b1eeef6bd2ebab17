// The list of tasks; no task depends on it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/tasks/seq2seq/addition/addition.h>
#include <tapegrad/tasks/seq2seq/copy/copy.h>
#include <tapegrad/tasks/seq2seq/parser/parser.h>
#include <tapegrad/tasks/seq2seq/task.h>

namespace tapegrad::tasks {

std::span<const TaskInfo* const> all_tasks() {
  static constexpr const TaskInfo* kTasks[] = {&CopyTask::kInfo, &AdditionTask::kInfo, &ParserTask::kInfo};
  return kTasks;
}

const TaskInfo& task_named(std::string_view name) {
  std::vector<std::string_view> names;
  for (const TaskInfo* task : all_tasks()) {
    if (task->name == name) return *task;
    names.push_back(task->name);
  }
  fail("task", fmt::format("expected one of {}, got \"{}\"", fmt::join(names, ", "), name));
}

}  // namespace tapegrad::tasks
