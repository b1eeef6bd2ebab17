// Trained models in files: the parameters under PyTorch's names; in __metadata__ the settings as JSON ("config"), the
// task, the steps trained, and what else the kind of run needs.
#pragma once

#include <tapegrad/tasks/run/recipe.h>

#include <filesystem>
#include <string_view>

namespace tapegrad::tasks {

/// Fills a recipe with a trained model, which is then in eval mode. Settings that are `given` by name are those of
/// `asked` instead of the run's. Error for a file that is damaged, BadRequest for a model of another task.
void load_model(Recipe& recipe, const fs::path& path, const Fields& asked = {}, const Given& given = {});

/// The task that a model file was trained for. Error for a file that is not a model.
std::string task_of_model(const fs::path& path);

/// The checkpoint in the folder of a run, which has its settings and what its data was. BadRequest about `where` if
/// there is none.
train::Checkpoint checkpoint_in(const fs::path& folder, std::string_view where);

/// The text of a model file under this key. Error that names the file where there is none.
const std::string& text_of(const ModelText& text, const fs::path& path, std::string_view key);

}  // namespace tapegrad::tasks
