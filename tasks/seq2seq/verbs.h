// The verb `test`, and what it has in common with the other verbs that show examples. They return the exit code: 0, or
// 1 below the target. A BadRequest becomes 2, any other Error 1.
#pragma once

#include <tapegrad/tasks/seq2seq/options.h>
#include <tapegrad/tasks/settings/verb_options.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tapegrad::tasks {

/// Common to the verbs that show or test examples.
struct ExampleRequest {
  explicit ExampleRequest(const TaskInfo& task) : options(task.defaults()) {}
  RunOptions options;                     // settings that decide how long an example is
  Given given;                            // those named on the command line
  ReachSettings reach;                    // of the model, for inputs longer than those of training
  std::optional<std::string> expression;  // the example, for tasks that read expressions

  /// What `given` names.
  Fields asked();
  /// Adds these, whose defaults are `otherwise`, and --expression.
  void list_examples(Fields& fields, std::string_view otherwise = "the run's");
};

struct TestRequest : ExampleRequest, BeamOptions {
  explicit TestRequest(const TaskInfo& task) : ExampleRequest(task), count(task.test_count) {}
  std::string model;  // file, or folder of a run; empty: the last run's
  int64_t count;
  std::optional<uint64_t> seed;  // of the examples; otherwise the run's seed + 1
  std::optional<double> target;  // otherwise the task's
  bool json = false;
  std::string draw;  // a file for the picture of the answer to `expression`

  void list(Fields& fields);
};
int test(const TestRequest& request);

}  // namespace tapegrad::tasks
