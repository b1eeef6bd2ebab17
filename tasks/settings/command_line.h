// Settings as options of a subcommand.
#pragma once

#include <tapegrad/tasks/settings/settings.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace tapegrad::tasks {

using Run = std::function<int()>;  // what a command line requests; returns the exit code

/// Adds an option for every setting, in its group, with its value as the default that --help shows. Refers to the
/// members in `fields`. Values are read by the members' types: whole numbers are of base 10 and fit into 64 bits, names
/// of files and folders are not empty. Anything else is a BadRequest that names the option and the value.
void add_options(CLI::App* app, const Fields& fields);
/// The settings that were named on the command line, once it is parsed.
Given given_on(const CLI::App* app, const Fields& fields);
/// Calls `act` when the subcommand has been parsed.
void on_parsed(CLI::App* app, std::function<void()> act);

/// The options of a verb, which its request lists. Once they are parsed, `run` checks their limits and does
/// act(*request). A request with a member `given` gets the names that were given of the settings that asked() lists.
template <class Request, class Act>
void add_verb(CLI::App* app, Run& run, const std::shared_ptr<Request>& request, Act act) {
  add_options(app, fields_of(*request));
  on_parsed(app, [=, &run] {
    run = [=] {
      const Fields fields = fields_of(*request);
      if constexpr (requires { request->given; }) request->given = given_on(app, request->asked());
      check_limits(fields);
      return act(*request);
    };
  });
}

}  // namespace tapegrad::tasks
