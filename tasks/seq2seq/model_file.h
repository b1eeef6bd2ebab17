// Trained models in files.
#pragma once

#include <tapegrad/tasks/seq2seq/trainer.h>

#include <filesystem>
#include <memory>

namespace tapegrad::tasks {

/// A trained model, the settings it was trained with, and its task.
struct TrainedModel {
  RunOptions options;
  nn::Transformer model;
  std::unique_ptr<Task> task;
};
/// model.safetensors: PyTorch's parameter names; in __metadata__ the settings as JSON ("config") and the steps trained.
void save_model(const fs::path& path, const Trainer& trainer);
/// Error for a file that is damaged or was trained for another task. Settings of `reach` that are `given` by name
/// override the run's.
TrainedModel load_model(const fs::path& path, const TaskInfo& task, ReachSettings reach = {}, const Given& given = {});
/// Examples of another length, where `given` names settings that decide it. BadRequest when they are too long for the
/// model.
void override_examples(TrainedModel& trained, RunOptions asked, const Given& given);

}  // namespace tapegrad::tasks
