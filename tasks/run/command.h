// The kinds of runs on the command line.
#pragma once

#include <tapegrad/tasks/run/recipe.h>
#include <tapegrad/tasks/settings/command_line.h>

#include <functional>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

using AddVerb = std::function<void(CLI::App*, Run&)>;  // adds options to a subcommand, whose callback sets what to run

/// A kind of run: a word after `train`, and the recipe after it.
struct Kind {
  std::string_view name, help;
  MakeRecipe make;
  /// Other verbs that it has, and their options: {"test", add}.
  std::vector<std::pair<std::string_view, AddVerb>> verbs = {};
};
/// All kinds, in the order of --help: the one list of them (kinds.cpp).
const std::vector<Kind>& kinds();

/// The options of `train`, and of `graph`.
void add_train(CLI::App* app, const Kind& kind, Run& run);
void add_graph(CLI::App* app, const Kind& kind, Run& run);

}  // namespace tapegrad::tasks
