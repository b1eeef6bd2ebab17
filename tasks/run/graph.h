// The verb `graph`: what a training step records, for Graphviz.
#pragma once

#include <tapegrad/tasks/run/train.h>

#include <cstdint>
#include <string>

namespace tapegrad::tasks {

struct GraphRequest {
  std::string model;  // file, or folder of a run; empty: a new model with the defaults of its kind
  std::string out;    // file; empty: standard output
  int64_t depth = 3;  // GraphOptions
  bool all_layers = false;

  void list(Fields& fields);
};

/// Records the loss of the first batch, and writes its graph. BadRequest for a model of another kind and for data that
/// is missing.
int graph(const MakeRecipe& make, const GraphRequest& request);

}  // namespace tapegrad::tasks
