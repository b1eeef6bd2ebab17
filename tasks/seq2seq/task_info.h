// The description of a task, which the command uses without creating the task.
#pragma once

#include <tapegrad/tasks/settings/settings.h>

#include <any>
#include <cstdint>
#include <memory>
#include <string_view>

namespace tapegrad::tasks {

class Task;
struct RunOptions;

/// The static members of a task's class; see task.h.
struct TaskInfo {
  std::string_view name, help;
  RunOptions (*defaults)();
  void (*list)(std::any& settings, Fields& fields);
  int64_t (*longest)(const RunOptions&);
  void (*check)(const RunOptions&);
  void (*adapt)(RunOptions&, const Given& given);
  void (*for_explain)(RunOptions&, std::string_view expression);
  std::unique_ptr<Task> (*make)(const RunOptions&);
  int64_t least_positions;
  bool takes_expressions;
  bool draws;
  bool explains_many;
  int64_t test_count;
};

}  // namespace tapegrad::tasks
