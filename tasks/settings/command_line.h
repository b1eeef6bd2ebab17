// Settings as options of a subcommand.
#pragma once

#include <tapegrad/tasks/settings/settings.h>

#include <string>

namespace CLI {
class App;
}

namespace tapegrad::tasks {

/// Adds an option for every setting, in its group, with its value as the default that --help shows; with
/// `shown_default` instead where that is not empty. Refers to the members in `fields`.
void add_options(CLI::App* app, const Fields& fields, const std::string& shown_default = "");
/// The settings that were named on the command line, once it is parsed.
Given given_on(const CLI::App* app, const Fields& fields);

}  // namespace tapegrad::tasks
