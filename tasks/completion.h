// Completion of the command line in shells.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace tapegrad::tasks {

/// The shells that completion_script knows: bash, zsh, fish.
const std::vector<std::string_view>& completion_shells();

/// The script that completes verbs, tasks, options and their values in a shell, of all subcommands of `top`. Error
/// unless it is one of completion_shells().
std::string completion_script(const CLI::App& top, std::string_view shell);

}  // namespace tapegrad::tasks
