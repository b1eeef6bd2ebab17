// Training of the sequence-to-sequence tasks (tutorial 003, section 8.5).
#pragma once

#include <tapegrad/nn/transformer.h>
#include <tapegrad/optim/adam.h>
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/tasks/train/loop.h>

#include <memory>
#include <optional>
#include <string>

namespace tapegrad::tasks {

namespace fs = std::filesystem;

/// A model in training. Draws come from the default generator, in PyTorch's order: the constructors', then for every
/// batch its data and its dropout masks.
class Trainer {
 public:
  /// Seeds the default generator and makes model and optimiser: Adam with the tutorial's betas 0.9, 0.98 and eps 1e-9.
  explicit Trainer(const RunOptions& options, const distributed::World& world = distributed::World::alone());

  train::StepMetrics step() { return loop_.step(); }
  std::optional<train::EpochMetrics> ended_epoch() const { return loop_.ended_epoch(); }
  train::Checkpoint checkpoint() const { return loop_.checkpoint(); }
  void restore(const train::Checkpoint& checkpoint) { loop_.restore(checkpoint); }
  int64_t steps() const { return loop_.steps(); }
  bool finished() const { return loop_.finished(); }
  train::Loop& loop() { return loop_; }

  /// The last batch, and what was predicted for it [B, T]: from the correct earlier tokens, with dropout.
  const Batch& last_batch() const { return last_batch_; }
  const Tensor& last_predicted() const { return last_predicted_; }

  /// The settings of the run that a checkpoint belongs to.
  static RunOptions options_of(const train::Checkpoint& checkpoint, const TaskInfo& task);

  const RunOptions& options() const { return options_; }
  const Task& task() const { return *task_; }
  nn::Transformer& model() { return model_; }
  const nn::Transformer& model() const { return model_; }

 private:
  // What the task draws, as the loop's source of batches.
  struct Draws {
    Task& task;
    const RunOptions& options;
    Batch next() { return task.draw_training(options.batch_size, default_generator()); }
    int64_t size() const { return options.steps_per_epoch * options.accumulate; }
    void save(train::Checkpoint& out) const { out.bytes["task"] = task.state(); }
    void load(const train::Checkpoint& in) { task.set_state(in.bytes_named("task")); }
  };
  train::LoopOptions loop_options(const distributed::World& world);
  train::BatchLoss loss_of(const Batch& batch);

  RunOptions options_;
  std::unique_ptr<Task> task_;
  nn::Transformer model_;
  optim::AdamW adam_;
  Draws draws_;
  Tensor causal_;
  Batch last_batch_;
  Tensor last_predicted_;
  train::Loop loop_;
};

}  // namespace tapegrad::tasks
