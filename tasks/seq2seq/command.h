// The options of the verbs of the sequence-to-sequence tasks.
#pragma once

#include <tapegrad/tasks/seq2seq/task_info.h>
#include <tapegrad/tasks/settings/command_line.h>

namespace tapegrad::tasks {

// Each adds one verb's options to a task's subcommand; once they are parsed, `run` holds what to do.
void add_test(CLI::App* app, const TaskInfo& task, Run& run);
void add_explain(CLI::App* app, const TaskInfo& task, Run& run);
void add_attention(CLI::App* app, const TaskInfo& task, Run& run);

}  // namespace tapegrad::tasks
