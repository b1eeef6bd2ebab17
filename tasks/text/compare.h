// The verb `compare text`: text models after equal training time, next to baselines.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace tapegrad::tasks {

struct CompareTextRequest {
  std::string data;  // folder; empty: invented records
  std::string out = "out/compare";
  double seconds = 60;   // processor time per model
  int64_t count = 1000;  // examples of the test part; 0: all
  uint64_t seed = 0;
  bool json = false;
};
/// Trains every model for the same processor time with a constant rate, tests it, and prints a table; draws the first
/// measures into OUT/text.svg. Returns the exit code 0.
int compare_text(const CompareTextRequest& request);

// Adds `compare text` to the verb; once it is parsed, `run` executes the request.
CLI::App* add_compare_text(CLI::App* verb, std::function<int()>& run);

}  // namespace tapegrad::tasks
