// The verb `data`: makes the datasets of the text tasks. Returns the exit code 0; a BadRequest thrown is 2, any
// other Error 1.
#pragma once

#include <tapegrad/tasks/text/corpus/apt.h>

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace tapegrad::tasks {

struct DataRequest {
  std::string out;  // folder
  bool json = false;
};
/// From made_packages().
int data_sample(const DataRequest& request);

struct DebianRequest : DataRequest {
  AptSource source;
  std::string lists;  // a folder that has apt's lists; empty: fetch them into OUT/lists
};
int data_debian(const DebianRequest& request);

// Adds `data debian` and `data sample` to the verb; once they are parsed, `run` executes the request.
void add_data(CLI::App* verb, std::function<int()>& run);

}  // namespace tapegrad::tasks
