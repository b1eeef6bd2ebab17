// The list of tasks; no task depends on it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/tasks/seq2seq/addition/addition.h>
#include <tapegrad/tasks/seq2seq/copy/copy.h>
#include <tapegrad/tasks/seq2seq/parser/parser.h>
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/tasks/settings/bad_request.h>

namespace tapegrad::tasks {

std::span<const TaskInfo* const> all_tasks() {
  static constexpr const TaskInfo* kTasks[] = {&CopyTask::kInfo, &AdditionTask::kInfo, &ParserTask::kInfo};
  return kTasks;
}

namespace {

const TaskInfo* find(std::string_view name) {
  for (const TaskInfo* task : all_tasks())
    if (task->name == name) return task;
  return nullptr;
}

std::string names() {
  std::vector<std::string_view> all;
  for (const TaskInfo* task : all_tasks()) all.push_back(task->name);
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace

const TaskInfo& task_named(std::string_view name) {
  if (const TaskInfo* task = find(name)) return *task;
  fail("task", "expected one of {}, got \"{}\"", names(), name);
}

const TaskInfo& task_of_given_model(std::string_view name) {
  if (const TaskInfo* task = find(name)) return *task;
  bad_request("--model", "expected a model of {} or gpt, got one of {}", names(), name);
}

}  // namespace tapegrad::tasks
