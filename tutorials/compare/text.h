// The verb `compare text`: text models after equal training time, next to baselines.
#pragma once

#include <tapegrad/tasks/settings/command_line.h>

#include <cstdint>
#include <string>

namespace tapegrad::tasks {

struct CompareTextRequest {
  std::string data;  // folder; empty: synthetic records
  std::string out = "out/compare";
  double seconds = 60;   // processor time per model
  int64_t count = 1000;  // examples of the test part; 0: all
  uint64_t seed = 0;
  bool json = false;

  void list(Fields& fields);
};
/// Trains every model for the same processor time with a constant rate, tests it, and prints a table; draws the first
/// measures into OUT/text.svg. Returns the exit code 0.
int compare_text(const CompareTextRequest& request);

}  // namespace tapegrad::tasks
