// Joins the answers with the texts.
#include <fmt/format.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/settings/nearest.h>
#include <tapegrad/tutorials/exercises/exercises.h>
#include <tapegrad/tutorials/texts.h>

namespace tapegrad::tasks::exercises {
namespace {

Exercise with_texts(const Answers& answers) {
  tutorial::EntryReader texts(fmt::format("exercises/set/{}", answers.id));
  Exercise out{answers};
  out.title = texts.take_text();
  texts.take("task");
  out.task = texts.take_text();
  out.skeleton = texts.take("skeleton").lines;
  out.check = texts.take("check").lines;
  out.solution = texts.take("solution").lines;
  const tutorial::Entry& mistake = texts.take("mistake");
  out.mistake = mistake.value;
  out.wrong = mistake.lines;
  texts.expect_end();
  return out;
}

}  // namespace

std::span<const Exercise> all_exercises() {
  static const std::vector<Exercise> kExercises = [] {
    std::vector<Exercise> all;
    for (const Answers& answers : all_answers()) all.push_back(with_texts(answers));
    return all;
  }();
  return kExercises;
}

const Exercise& find_exercise(std::string_view id) {
  std::vector<std::string> known;
  for (const Exercise& exercise : all_exercises()) {
    if (exercise.id == id) return exercise;
    known.emplace_back(exercise.id);
  }
  bad_request("exercise", fmt::format("unknown exercise \"{}\"{}; tapegrad exercise lists all of them", id,
                                      did_you_mean(id, known)));
}

}  // namespace tapegrad::tasks::exercises
