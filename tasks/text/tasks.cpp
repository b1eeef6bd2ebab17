// The list of text tasks; no task depends on it.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/tasks/text/task.h>

#include <set>

namespace tapegrad::tasks {

const TextTask& classify_task();
const TextTask& summarize_task();
const TextTask& answer_task();

std::span<const TextTask* const> text_tasks() {
  static const TextTask* const kTasks[] = {&classify_task(), &summarize_task(), &answer_task()};
  return kTasks;
}

std::vector<std::string> TextTask::baseline(std::span<const TextExample>, std::span<const TextExample> examples) const {
  std::vector<std::string> guesses;
  for (const TextExample& example : examples) guesses.push_back(guess(example));
  return guesses;
}

const TextTask& text_task(std::string_view name) {
  for (const TextTask* task : text_tasks())
    if (task->words.name == name) return *task;
  fail("task", "expected a text task, got \"{}\"", name);
}

std::vector<std::string> classes_of(std::span<const TextExample> examples) {
  std::set<std::string> classes;
  for (const TextExample& example : examples) classes.insert(example.target);
  return {classes.begin(), classes.end()};
}

}  // namespace tapegrad::tasks
