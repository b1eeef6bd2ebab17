// Trained models in files: the parameters under PyTorch's names; in __metadata__ the settings as JSON ("config"), the
// task, the steps trained, and what else the kind of run needs. And the end of `test`, for every kind of run.
#pragma once

#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/tasks/run/recipe.h>

#include <filesystem>
#include <string>
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

/// What a test has found.
struct Tested {
  Json json;
  std::string text;          ///< the same for people; whole lines
  std::string drawing = {};  ///< for --draw: the contents of the file
  std::string failure = {};  ///< what is below its target; empty: nothing
};

/// Prints text or JSON, and writes the drawing into the file `draw`, unless that is empty. Returns the exit code 0.
/// Error about `where` for a failure.
int report_test(const Tested& tested, std::string_view where, bool json, const std::string& draw = "");
/// BadRequest about --draw unless the file ends in one of the suffixes and can be written.
void check_drawing(const std::string& draw, std::string_view suffix, std::string_view other_suffix = "");

}  // namespace tapegrad::tasks
