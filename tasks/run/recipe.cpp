// What kinds of runs do unless they say otherwise.
#include <fmt/format.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/run/recipe.h>
#include <tapegrad/train/files/internal/checked_file.h>

namespace tapegrad::tasks {

std::string counted(int64_t count, std::string_view unit) {
  return fmt::format("{} {}{}", count, unit, count == 1 ? "" : "s");
}

void Recipe::write_model(const fs::path& path, int64_t steps) {
  ModelText text = model_text();
  text.insert({{"config", json()}, {"format", "pt"}, {"steps", std::to_string(steps)}, {"task", std::string(name())}});
  train::save_checked(train::in_its_folder(path), nn::state_dict(model()), text);
}

std::string Recipe::evaluation_text(const train::StepMetrics& step, const train::Loop& /*loop*/) {
  return train::evaluation_text(step);
}

std::string Recipe::epoch_text(train::EpochMetrics& epoch, const train::StepMetrics& last,
                               const train::Loop& /*loop*/) {
  return train::epoch_text(epoch, last);
}

std::vector<NextCall> Recipe::next() { return {{fmt::format("test {}", name()), said("test it on new examples")}}; }

}  // namespace tapegrad::tasks
