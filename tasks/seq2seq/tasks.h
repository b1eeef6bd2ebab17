// The list of tasks.
#pragma once

#include <tapegrad/tasks/seq2seq/task.h>

#include <span>

namespace tapegrad::tasks {

/// All tasks, in the order of --help.
std::span<const TaskInfo* const> all_tasks();
/// Error for a name that no task has.
const TaskInfo& task_named(std::string_view name);

}  // namespace tapegrad::tasks
