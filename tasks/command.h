// The `tapegrad` command: from its arguments to its exit code.
#pragma once

#include <string>
#include <vector>

namespace tapegrad::tasks {

// 0 success; 1 the run failed or missed its target; 2 invalid arguments. Errors are one line on standard error.
int command_main(int argc, const char* const* argv);
// What --help of all verbs says in words: the keys of its messages in other languages.
std::vector<std::string> help_texts();

}  // namespace tapegrad::tasks
