// The list of exercises.
#pragma once

#include <tapegrad/tutorials/exercises/exercise.h>

#include <span>
#include <vector>

namespace tapegrad::tasks::exercises {

/// In the order of the tutorials.
std::span<const Exercise> all_exercises();
/// The one of this name, or those about a section or cell that is named as for `tutorial`. BadRequest with the nearest
/// names if there is none.
std::vector<const Exercise*> find_exercises(std::string_view name);

}  // namespace tapegrad::tasks::exercises
