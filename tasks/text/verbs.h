// The verbs `test` of the text tasks, and `data`, which makes their datasets. They return the exit code: 0 done, 1
// failed or below the target; a BadRequest thrown is 2, any other Error 1.
#pragma once

#include <tapegrad/tasks/text/task.h>

#include <optional>
#include <string>

namespace tapegrad::tasks {

struct TextTestRequest {
  explicit TextTestRequest(const TextTask& task) : task(&task) {}

  const TextTask* task;
  std::string model;  // file, or folder of a run; empty: the last run's
  std::string data;   // folder; empty: the run's
  Part part = Part::test;
  int64_t count = 0;  // examples; 0: all
  int64_t beams = 1;  // summarize: width of the beam search
  std::optional<double> target;
  bool json = false;
  std::string draw;  // classify: a file for the confusion matrix

  void list(Fields& fields);
};
int test_text(const TextTestRequest& request);

struct DataRequest {
  std::string out = "out/sample";  // folder
  bool json = false;

  void list(Fields& fields);
};
/// From made_packages().
int data_sample(const DataRequest& request);

}  // namespace tapegrad::tasks
