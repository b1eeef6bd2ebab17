// The verb `data`: makes the datasets of the text tasks. Returns the exit code 0; a BadRequest thrown is 2, any
// other Error 1.
#pragma once

#include <tapegrad/tasks/settings/settings.h>

#include <string>

namespace tapegrad::tasks {

struct DataRequest {
  std::string out = "out/sample";  // folder
  bool json = false;

  void list(Fields& fields);
};
/// From made_packages().
int data_sample(const DataRequest& request);

}  // namespace tapegrad::tasks
