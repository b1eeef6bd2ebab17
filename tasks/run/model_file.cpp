// Reads model files, and prints and draws what a test has found.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/tasks/run/model_file.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/train/files/internal/checked_file.h>

#include <cstdio>
#include <filesystem>

namespace tapegrad::tasks {

const std::string& text_of(const ModelText& text, const fs::path& path, std::string_view key) {
  const auto found = text.find(std::string(key));
  if (found == text.end()) fail("model", "{}: its metadata has no \"{}\"", path.string(), key);
  return found->second;
}

std::string task_of_model(const fs::path& path) {
  return task_of_json(path.string(), text_of(SafeTensorsFile(path.string()).metadata(), path, "config"));
}

train::Checkpoint checkpoint_in(const fs::path& folder, std::string_view where) {
  const fs::path file = folder / train::kCheckpointFile;
  require(as_bad_request(where, [&] { return is_there(file); }), where,
          "expected the folder of a run, with a checkpoint, got {}", folder.string());
  return train::Checkpoint::load(file);
}

void load_model(Recipe& recipe, const fs::path& path, const Fields& asked, const Given& given) {
  const SafeTensors loaded = train::load_checked(path);
  const std::string& config = text_of(loaded.metadata, path, "config");
  const std::string trained_for = task_of_json(path.string(), config);
  require(trained_for == recipe.name(), "--model", "{} was trained for the task {}, not for {}", path.string(),
          trained_for, recipe.name());
  recipe.read_json(path.string(), config);
  override_with(fields_of(recipe), asked, given);
  recipe.resolve();
  const Fields resolved = fields_of(recipe);
  if (const Field* layers = resolved.find("num_hidden_layers"); layers != nullptr)
    require_layers(path.string(), layers->setting.key(), *std::get<int64_t*>(layers->value), loaded.tensors.size());
  recipe.open_trained(path, loaded.metadata);
  recipe.make();
  nn::AnyModel model = recipe.model();
  nn::load_state_dict(model, loaded.tensors);
  nn::eval(model);
}

int report_test(const Tested& tested, std::string_view where, bool json, const std::string& draw) {
  json ? print_now(json::text_of(tested.json) + "\n") : print_text(tested.text);
  if (!draw.empty()) as_bad_request("--draw", [&] { replace_file(draw, tested.drawing); });
  std::fflush(stdout);
  if (!tested.failure.empty()) fail(where, tested.failure);
  return 0;
}

void check_drawing(const std::string& draw, std::string_view suffix, std::string_view other) {
  if (draw.empty()) return;
  const std::string found = std::filesystem::path(draw).extension();
  if (found != suffix && (other.empty() || found != other)) {
    bad_request("--draw", other.empty() ? fmt::format("{} does not end in {}", draw, suffix)
                                        : fmt::format("{} ends neither in {} nor in {}", draw, suffix, other));
  }
  as_bad_request("--draw", [&] { check_replaceable(draw); });
}

}  // namespace tapegrad::tasks
