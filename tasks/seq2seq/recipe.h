// Runs of the sequence-to-sequence tasks (tutorial 003, section 8.5).
#pragma once

#include <tapegrad/nn/transformer.h>
#include <tapegrad/tasks/run/recipe.h>
#include <tapegrad/tasks/seq2seq/task.h>

#include <memory>
#include <optional>

namespace tapegrad::tasks {

class Seq2SeqRecipe : public Recipe {
 public:
  explicit Seq2SeqRecipe(const TaskInfo& info) : options_(info.defaults()) {}
  explicit Seq2SeqRecipe(RunOptions options) : options_(std::move(options)) {}

  RunOptions& options() { return options_; }
  const RunOptions& options() const { return options_; }
  const Task& task() const { return *task_; }
  nn::Transformer& transformer() { return *model_; }
  const nn::Transformer& transformer() const { return *model_; }
  const Batch& last_batch() const { return last_batch_; }
  /// Of a trained model: examples of another length, where `given` names settings that decide it. BadRequest when they
  /// are too long for the model.
  void override_examples(RunOptions asked, const Given& given);

  std::string_view name() const override { return options_.info->name; }
  void list(Fields& fields) override { options_.list(fields); }
  TrainingSettings& training() override { return options_; }
  void adapt(const Given& given) override;
  void fill_in() override { tasks::fill_in(options_); }
  void resolve() override { tasks::resolve(options_); }
  void open(const train::Checkpoint*) override { task_ = options_.info->make(options_); }
  void open_trained(const fs::path& path, const ModelText& text) override;
  double bytes(int64_t processes) override { return training_bytes(options_, processes); }
  void make() override { model_.emplace(options_.model()); }
  nn::AnyModel model() override { return nn::AnyModel(*model_); }
  /// Adam with the tutorial's betas and eps.
  optim::AdamWOptions optimizer() override;
  optim::Schedule schedule(int64_t steps) override;
  int64_t batches_per_epoch() const override { return options_.steps_per_epoch * options_.accumulate; }
  std::unique_ptr<train::Loop> loop(optim::Optimizer& optimizer, train::LoopOptions options) override;
  void begin_step(int64_t steps) override;
  ModelText model_text() override;
  std::string announcement(const train::Loop& loop) override;
  std::string epoch_text(train::EpochMetrics& epoch, const train::StepMetrics& last, const train::Loop& loop) override;
  std::string end_text(const train::StepMetrics& last) override;
  std::vector<NextCall> next() override;
  train::ReportText report() override;

 private:
  // What the task draws, as the loop's source of batches.
  struct Draws {
    Task& task;
    const Seq2SeqRecipe& recipe;
    Batch next() { return task.draw_training(recipe.options_.batch_size, default_generator()); }
    int64_t size() const { return recipe.batches_per_epoch(); }
    void save(train::Checkpoint& out) const { out.bytes["task"] = task.state(); }
    void load(const train::Checkpoint& in) { task.set_state(in.bytes_named("task")); }
  };
  train::BatchLoss loss_of(const Batch& batch);

  RunOptions options_;
  std::unique_ptr<Task> task_;
  std::optional<nn::Transformer> model_;
  std::optional<Draws> draws_;
  Tensor causal_;
  Batch last_batch_;
  Tensor last_predicted_;  // for last_batch_, [B, T]: from the correct earlier tokens, with dropout
};

}  // namespace tapegrad::tasks
