// Joins the answers with the texts.
#include <fmt/format.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/settings/nearest.h>
#include <tapegrad/tutorials/exercises/exercises.h>
#include <tapegrad/tutorials/find.h>
#include <tapegrad/tutorials/texts.h>

namespace tapegrad::tasks::exercises {
namespace {

// The section or cell: "8.4.1" of 003-8.4.1-pre-ln.
std::string_view place_of(const Exercise& exercise) {
  const std::string_view place = exercise.id.substr(4);
  return place.substr(0, place.find('-'));
}

Exercise with_texts(const Answers& answers) {
  tutorial::EntryReader texts(fmt::format("exercises/set/{}", answers.id));
  Exercise out{answers};
  out.title = texts.take_text();
  texts.take("task");
  out.task = texts.take_text();
  texts.take("hint");
  out.hint = texts.take_text();
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

std::vector<const Exercise*> find_exercises(std::string_view name) {
  std::vector<const Exercise*> found;
  std::vector<std::string> known;
  for (const Exercise& exercise : all_exercises()) {
    if (exercise.id == name) return {&exercise};
    if (tutorial::names_place(name, exercise.id.substr(0, 3), place_of(exercise))) found.push_back(&exercise);
    known.emplace_back(exercise.id);
  }
  if (!found.empty()) return found;
  bad_request("exercise", fmt::format("unknown exercise \"{}\"{}; tapegrad exercise lists all of them", name,
                                      did_you_mean(name, known)));
}

}  // namespace tapegrad::tasks::exercises
