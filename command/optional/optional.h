// What a build with -D TAPEGRAD_VERBS=train leaves out: verbs about the tutorials, and what runs the samples of every
// operation. There left_out.cpp replaces all of it.
#pragma once

#include <tapegrad/checks/self_test/self_test.h>
#include <tapegrad/command/verb/parsed.h>

#include <functional>
#include <string>
#include <vector>

namespace tapegrad::tasks {

// The arguments, options and subcommands of each verb.
void add_tutorial(CLI::App* app, Parsed& parsed);
void add_exercise(CLI::App* app, Parsed& parsed);
void add_topics(CLI::App* app, Parsed& parsed);        // of show
void add_explanations(CLI::App* app, Parsed& parsed);  // of explain
void add_compare(CLI::App* app, Parsed& parsed);
void add_gradcheck(CLI::App* app, Parsed& parsed);

/// Whether a word after `show` is a page of the verb tutorial.
bool names_page_of_tutorial(const std::string& word);

/// The self-test of `info`; calls `done` after each computation.
std::vector<SelfTestResult> self_test_results(const std::function<void(const SelfTestResult&)>& done);

/// What the self-test trains and generates: short runs, whose data are made here.
std::vector<Computation> run_computations();

struct GradcheckRequest {
  std::string op, module;  // both empty: everything

  void list(Fields& fields);
};
// Prints one line per operation and module: samples, first order, second order (or "refuses"), worst error; and one
// line per failure. Returns 0 if all gradients are right, 1 otherwise. BadRequest for an unknown name, with the known
// ones.
int gradcheck(const GradcheckRequest& request);

}  // namespace tapegrad::tasks
