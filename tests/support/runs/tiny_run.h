// Training runs of a second, too small to learn anything: in this process, and with the command.
#pragma once

#include <tapegrad/tasks/seq2seq/options.h>
#include <tapegrad/tests/support/command_runner.h>

#include <string>
#include <vector>

namespace tapegrad::tests {

// Of all sequence-to-sequence tasks: what every task must do is tested for a new one, too.
std::vector<std::string> names_of_tasks();
// Two epochs of ten steps, resolved.
tasks::RunOptions tiny_options(const std::string& task);
// The same run as `tapegrad train TASK --out OUT`, with a checkpoint every seven steps. Options in `more` replace the
// run's own or are added.
Arguments tiny_run(const std::string& task, const std::string& out, const Arguments& more = {});
// What that run prints, in `folder`, of which OUT is a subfolder. It must succeed.
Ran train_tiny(const TemporaryFolder& folder, const std::string& task, const std::string& out,
               const Arguments& more = {}, const char* file = __builtin_FILE(), int line = __builtin_LINE());

// The options of the command that turn the settings `usual` into these.
Arguments as_arguments(const tasks::Fields& settings, const tasks::Fields& usual);
// The words `first`, the options in `usual` that `more` does not replace (each with a value), and `more`.
Arguments with_options(Arguments first, const Arguments& usual, const Arguments& more);

}  // namespace tapegrad::tests
