// The training loop that the sequence-to-sequence tasks share (tutorial, section 8.5), one step at a time.
#pragma once

#include <tapegrad/nn/transformer.h>
#include <tapegrad/optim/adam.h>
#include <tapegrad/optim/schedule.h>
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/tasks/train/checkpoint.h>
#include <tapegrad/tasks/train/metrics.h>

#include <memory>
#include <optional>
#include <string>

namespace tapegrad::tasks {

namespace fs = std::filesystem;

// A model in training. Draws come from the default generator, in PyTorch's order: the constructors', then for every
// step its data and its dropout masks.
class Trainer {
 public:
  // Seeds the default generator and makes model and optimiser: Adam with the tutorial's betas 0.9, 0.98 and eps 1e-9.
  explicit Trainer(const RunOptions& options);

  // One batch: forward, backward, update. Error, before the update, when the loss is not finite.
  train::StepMetrics step();
  // The epoch that ended with the last step, if one did.
  std::optional<train::EpochMetrics> ended_epoch() const;

  // The last step's batch, and what was predicted for it [B, T]: from the right tokens before, with dropout.
  const Batch& last_batch() const { return last_batch_; }
  const Tensor& last_predicted() const { return last_predicted_; }

  // Between two steps everything that decides the rest of the run, and back.
  train::Checkpoint checkpoint() const;
  void restore(const train::Checkpoint& checkpoint);
  // The settings of the run that a checkpoint belongs to, and its step.
  static std::string settings_json(const train::Checkpoint& checkpoint);
  static RunOptions options_of(const train::Checkpoint& checkpoint, const TaskInfo& task);
  static int64_t steps_of(const train::Checkpoint& checkpoint);

  const RunOptions& options() const { return options_; }
  const Task& task() const { return *task_; }
  nn::Transformer& model() { return model_; }
  const nn::Transformer& model() const { return model_; }
  int64_t steps() const { return steps_; }
  bool finished() const { return steps_ >= options_.total_steps(); }

 private:
  RunOptions options_;
  std::unique_ptr<Task> task_;
  nn::Transformer model_;
  optim::Adam adam_;
  optim::Schedule schedule_;
  Tensor causal_;
  Batch last_batch_;
  Tensor last_predicted_;
  int64_t steps_ = 0;
  double loss_sum_ = 0, accuracy_sum_ = 0;  // over the steps of the running epoch
};

// A trained model, the settings it was trained with, and its task.
struct TrainedModel {
  RunOptions options;
  nn::Transformer model;
  std::unique_ptr<Task> task;
};
// model.safetensors: PyTorch's parameter names; in __metadata__ the settings as JSON ("config") and the steps trained.
void save_model(const fs::path& path, const Trainer& trainer);
// Error for a file that is damaged or was trained for another task.
TrainedModel load_model(const fs::path& path, const TaskInfo& task);
// Examples of another length, where `given` names settings that decide it. BadRequest when they are too long for the
// model.
void override_examples(TrainedModel& trained, RunOptions asked, const Given& given);

}  // namespace tapegrad::tasks
