// Training: a recipe's model with its optimiser and loop, and a whole run with its files.
#pragma once

#include <tapegrad/tasks/run/recipe.h>

#include <memory>

namespace tapegrad::tasks {

/// A recipe's model in training. Draws come from the default generator, in PyTorch's order: the constructors', then for
/// every batch its data and its dropout masks.
class Training {
 public:
  /// Seeds the default generator, and makes model, optimiser and loop of a recipe whose data is open. The recipe must
  /// outlive it.
  explicit Training(Recipe& recipe, const distributed::World& world = distributed::World::alone());
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;
  train::Loop& loop() { return *loop_; }

 private:
  nn::AnyModel model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::unique_ptr<train::Loop> loop_;
};

/// All options of `train` that are not settings of the run.
Fields request_fields(RunRequest& request, Recipe& recipe);
/// The settings of the run that a checkpoint belongs to, in a recipe with the defaults of its kind.
void read_settings(Recipe& recipe, const train::Checkpoint& saved);
/// The same in a new recipe. Those `given` for `asked` must be the same:
/// BadRequest about --resume.
std::unique_ptr<Recipe> continued(const MakeRecipe& make, const train::Checkpoint& saved, Recipe& asked,
                                  const Given& given, const std::string& out);

/// A run with all its files, new or continued. Returns the exit code 0.
int train(const MakeRecipe& make, std::unique_ptr<Recipe> recipe, RunRequest request, const Given& given);

}  // namespace tapegrad::tasks
