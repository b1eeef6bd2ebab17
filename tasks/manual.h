// The man page of the command.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace tapegrad::tasks {

/// The page tapegrad(1) in the language of man: every verb and task of `top` with its options, their defaults and
/// descriptions.
std::string man_page(const CLI::App& top);

}  // namespace tapegrad::tasks
