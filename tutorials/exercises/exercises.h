// The list of exercises.
#pragma once

#include <tapegrad/tutorials/exercises/exercise.h>

#include <span>

namespace tapegrad::tasks::exercises {

/// In the order of the tutorials.
std::span<const Exercise> all_exercises();
/// The one of this name. BadRequest with the nearest names for any other.
const Exercise& find_exercise(std::string_view id);

}  // namespace tapegrad::tasks::exercises
