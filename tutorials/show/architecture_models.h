// The models that `show architecture` and pages draw, and their table.
#pragma once

#include <tapegrad/tasks/architecture/architecture.h>
#include <tapegrad/tutorials/show/notes.h>

#include <string>

namespace tapegrad::tasks::architecture {

/// An untrained Transformer of the copy task, as `train copy` makes it.
Architecture architecture_of_copy();
/// A trained model: the folder or model file of a run, or a folder with config.json. BadRequest about --model for a
/// path that has none, and for tasks with another kind of model.
Architecture architecture_of_file(const std::string& path);
/// The table of all parts.
Notes table_of(const Architecture& model);

}  // namespace tapegrad::tasks::architecture
