// The `tapegrad` command: from its arguments to its exit code.
#pragma once

namespace tapegrad::tasks {

// 0 done; 1 the run failed or fell short of its target; 2 the request was wrong. Errors are one line on standard error.
int run_command(int argc, const char* const* argv);

}  // namespace tapegrad::tasks
