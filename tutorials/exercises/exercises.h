// The exercises, each a constant in set/<tutorial>_<place>.cpp, and the list of them.
#pragma once

#include <tapegrad/tutorials/exercises/exercise.h>

#include <span>

namespace tapegrad::tasks::exercises {

/// In the order of the tutorials.
std::span<const Exercise* const> all_exercises();
/// The one of this name. BadRequest with the nearest names for any other.
const Exercise& find_exercise(std::string_view id);

// --- one line per exercise, here and in exercises.cpp ---
extern const Exercise k000_2;
extern const Exercise k000_4;
extern const Exercise k001_2_1;
extern const Exercise k001_2_2;
extern const Exercise k002_2;
extern const Exercise k002_3;
extern const Exercise k003_8_2_5;
extern const Exercise k003_8_3_1;
extern const Exercise k003_8_3_2;
extern const Exercise k003_8_4;
extern const Exercise k003_8_4_1;
extern const Exercise k003_8_4_1_feed_forward;
extern const Exercise k003_8_4_1_pre_ln;
extern const Exercise k003_8_4_3_beams;
extern const Exercise k003_8_4_3_greedy;
extern const Exercise k003_8_4_3_temperature;
extern const Exercise k003_8_4_3_top_p;
extern const Exercise k003_8_5_1;
extern const Exercise k003_8_5_2;
extern const Exercise k004_6;
extern const Exercise k004_13;
extern const Exercise k004_23;
extern const Exercise k004_31;
extern const Exercise k004_35;
extern const Exercise k004_40;

}  // namespace tapegrad::tasks::exercises
