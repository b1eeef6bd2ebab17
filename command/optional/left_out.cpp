// In place of what this build leaves out: the verbs are in the help, take any arguments, and fail with the way to build
// them.
#include <tapegrad/autograd/error.h>
#include <tapegrad/command/optional/optional.h>

#include <CLI/CLI.hpp>

namespace tapegrad::tasks {
namespace {

[[noreturn]] void fail_as_left_out(const std::string& what) {
  fail(what,
       "expected a build with every verb, got one with the verbs of training runs (cmake --preset release -D "
       "TAPEGRAD_VERBS=all && cmake --build --preset release --target tapegrad_command)");
}

void leave_out(CLI::App* app, Parsed& parsed) {
  app->allow_extras();
  on_parsed(app, [app, &parsed] { parsed.run = [verb = app->get_name()]() -> int { fail_as_left_out(verb); }; });
}

}  // namespace

void add_tutorial(CLI::App* app, Parsed& parsed) { leave_out(app, parsed); }
void add_exercise(CLI::App* app, Parsed& parsed) { leave_out(app, parsed); }
void add_topics(CLI::App* app, Parsed& parsed) { leave_out(app, parsed); }
void add_explanations(CLI::App* app, Parsed& parsed) { leave_out(app, parsed); }
void add_compare(CLI::App* app, Parsed& parsed) { leave_out(app, parsed); }
void add_gradcheck(CLI::App* app, Parsed& parsed) { leave_out(app, parsed); }

bool names_page_of_tutorial(const std::string&) { return false; }

std::vector<SelfTestResult> self_test_results(const std::function<void(const SelfTestResult&)>&) {
  fail_as_left_out("self-test");
}

}  // namespace tapegrad::tasks
