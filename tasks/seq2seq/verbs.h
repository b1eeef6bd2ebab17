// The requests of the command's verbs, and the functions that do them. They return the exit code: 0, or 1 below the
// target. A BadRequest becomes 2, any other Error 1.
#pragma once

#include <tapegrad/tasks/seq2seq/options.h>
#include <tapegrad/tasks/settings/run_request.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tapegrad::tasks {

/// Common to the verbs that show or test examples.
struct ExampleRequest {
  explicit ExampleRequest(const TaskInfo& task) : options(task.defaults()) {}
  RunOptions options;      // settings that decide how long an example is
  Given given;             // those named on the command line
  ReachSettings reach;     // of the model, for inputs longer than those of training
  std::string expression;  // the example, for tasks that read expressions
};

struct TestRequest : ExampleRequest {
  explicit TestRequest(const TaskInfo& task) : ExampleRequest(task), count(task.test_count) {}
  std::string model;  // file, or folder of a run; empty: the last run's
  int64_t count;
  std::optional<uint64_t> seed;  // of the examples; otherwise the run's seed + 1
  std::optional<double> target;  // otherwise the task's
  int64_t beams = 1;             // width of the beam search; 1: greedy
  double length_penalty = 0;     // of the beam search
  bool json = false;
  std::string draw;  // a file for the picture of the answer to `expression`
};
int test(const TestRequest& request);

struct ExplainRequest : ExampleRequest {
  using ExampleRequest::ExampleRequest;
  std::optional<uint64_t> seed;         // of a random example; otherwise the tutorial's
  std::optional<int64_t> num_examples;  // random examples, for tasks that explain several
};
int explain(ExplainRequest request);

struct AttentionRequest : ExampleRequest {
  using ExampleRequest::ExampleRequest;
  std::string model;
  std::string out;  // folder; empty: the model's
  uint64_t seed = 1;
  bool quiet = false;  // files only
  bool analyze = false;
  bool json = false;  // the figures of `analyze` as one JSON object
};
int attention(const AttentionRequest& request);

}  // namespace tapegrad::tasks
