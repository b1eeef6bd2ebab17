// The list of exercises.
#include <fmt/format.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/settings/nearest.h>
#include <tapegrad/tutorials/exercises/exercises.h>

namespace tapegrad::tasks::exercises {
namespace {

constexpr const Exercise* kExercises[] = {
    &k000_2,
    &k000_4,
    &k001_2_1,
    &k001_2_2,
    &k002_2,
    &k002_3,
    &k003_8_2_5,
    &k003_8_3_1,
    &k003_8_3_2,
    &k003_8_4,
    &k003_8_4_1,
    &k003_8_4_1_feed_forward,
    &k003_8_4_1_pre_ln,
    &k003_8_4_3_beams,
    &k003_8_4_3_greedy,
    &k003_8_4_3_temperature,
    &k003_8_4_3_top_p,
    &k003_8_5_1,
    &k003_8_5_2,
    &k004_6,
    &k004_13,
    &k004_23,
    &k004_31,
    &k004_35,
    &k004_40,
};

}  // namespace

std::span<const Exercise* const> all_exercises() { return kExercises; }

const Exercise& find_exercise(std::string_view id) {
  std::vector<std::string> known;
  for (const Exercise* exercise : all_exercises()) {
    if (exercise->id == id) return *exercise;
    known.emplace_back(exercise->id);
  }
  bad_request("exercise", fmt::format("unknown exercise \"{}\"{}; tapegrad exercise lists all of them", id,
                                      did_you_mean(id, known)));
}

}  // namespace tapegrad::tasks::exercises
