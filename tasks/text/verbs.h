// The verb `test` of the text tasks. It returns the exit code: 0 done, 1 failed or below the target; a BadRequest
// thrown is 2, any other Error 1.
#pragma once

#include <tapegrad/tasks/settings/command_line.h>
#include <tapegrad/tasks/settings/run_request.h>
#include <tapegrad/tasks/text/task.h>

#include <optional>
#include <string>

namespace tapegrad::tasks {

struct TextTestRequest {
  const TextTask* task;
  std::string model = {};  // file, or folder of a run; empty: the last run's
  std::string data = {};   // folder; empty: the run's
  Part part = Part::test;
  int64_t count = 0;  // examples; 0: all
  int64_t beams = 1;  // summarize: width of the beam search
  std::optional<double> target = {};
  bool json = false;
  std::string draw = {};  // classify: a file for the confusion matrix

  void list(Fields& fields);
};
int test_text(const TextTestRequest& request);

// Adds the options of `test` to its subcommand; once they are parsed, `run` executes the request.
void add_text_test(CLI::App* app, const TextTask& task, Run& run);

}  // namespace tapegrad::tasks
