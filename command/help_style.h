// How --help looks, and what it says.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace tapegrad::tasks {

/// Makes --help of `app`, and of subcommands added later, end a description with "(default: 100)", call the
/// subcommands <part>: "Usage: tapegrad train <task> [options]", and end with those of the examples that call the app:
/// "train copy --seed 1". Help is in the language of the environment.
void set_help_style(CLI::App& app, std::string_view part, std::span<const std::string_view> examples = {});
/// The subcommands of an app.
std::vector<const CLI::App*> parts_of(const CLI::App& app);
/// The examples of an app: "tapegrad train copy --seed 1".
std::vector<std::string> examples_of(const CLI::App& app);
/// What --help of `app` and of all its subcommands says in words: the keys of its messages in other languages.
std::vector<std::string> texts_of_help(const CLI::App& app);

}  // namespace tapegrad::tasks
