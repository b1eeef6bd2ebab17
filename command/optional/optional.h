// What a build with -D TAPEGRAD_VERBS=train leaves out: verbs about the tutorials, and what runs the samples of every
// operation. There left_out.cpp replaces all of it.
#pragma once

#include <tapegrad/checks/self_test/self_test.h>
#include <tapegrad/command/verbs.h>

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

}  // namespace tapegrad::tasks
