// Reads model files.
#include <fmt/format.h>
#include <tapegrad/tasks/run/model_file.h>
#include <tapegrad/train/files/internal/checked_file.h>

namespace tapegrad::tasks {

const std::string& text_of(const ModelText& text, const fs::path& path, std::string_view key) {
  const auto found = text.find(std::string(key));
  if (found == text.end()) fail("model", fmt::format("{}: its metadata has no \"{}\"", path.string(), key));
  return found->second;
}

std::string task_of_model(const fs::path& path) {
  return task_of_json(path.string(), text_of(SafeTensorsFile(path.string()).metadata(), path, "config"));
}

train::Checkpoint checkpoint_in(const fs::path& folder, std::string_view where) {
  const fs::path file = folder / train::kCheckpointFile;
  require(as_bad_request(where, [&] { return is_there(file); }), where,
          fmt::format("expected the folder of a run, with a checkpoint, got {}", folder.string()));
  return train::Checkpoint::load(file);
}

void load_model(Recipe& recipe, const fs::path& path, const Fields& asked, const Given& given) {
  const SafeTensors loaded = train::load_checked(path);
  const std::string& config = text_of(loaded.metadata, path, "config");
  const std::string trained_for = task_of_json(path.string(), config);
  require(trained_for == recipe.name(), "--model",
          fmt::format("{} was trained for the task {}, not for {}", path.string(), trained_for, recipe.name()));
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

}  // namespace tapegrad::tasks
