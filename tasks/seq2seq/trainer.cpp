// Trains one step, and carries a run through a checkpoint.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tasks/seq2seq/trainer.h>

#include <chrono>
#include <cmath>

namespace tapegrad::tasks {
namespace {

RunOptions seeded(const RunOptions& options) {
  manual_seed(options.seed);
  return options;
}

}  // namespace

Trainer::Trainer(const RunOptions& options)
    : options_(seeded(options)),
      task_(options_.info->make(options_)),
      model_(options_.model()),
      adam_(nn::parameters(model_), {.lr = options_.lr, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9}),
      // A run that is shorter than the rise is its beginning.
      schedule_(options_.schedule_of(options_.hidden_size, std::max(options_.total_steps(), options_.warmup + 1))) {
  nn::train(model_);
}

train::StepMetrics Trainer::step() {
  const auto start = std::chrono::steady_clock::now();
  if (steps_ % options_.steps_per_epoch == 0) loss_sum_ = accuracy_sum_ = 0;
  train::StepMetrics metrics;
  metrics.step = steps_ + 1;
  metrics.lr = schedule_(metrics.step);

  const Batch batch = task_->draw_training(options_.batch_size, default_generator());  // source [B, S], target [B, T]
  if (!causal_.defined() || causal_.size(0) != batch.target.size(1)) causal_ = nn::causal_mask(batch.target.size(1));
  {
    Tape tape;
    const Tensor outputs =  // [B, T, V]
        model_(batch.source, shifted(*task_, batch.target), task_->source_mask(batch.source), causal_);
    const Tensor loss = task_->loss(outputs, batch.target);
    metrics.loss = loss.item();
    if (!std::isfinite(metrics.loss))
      fail("train", fmt::format("the loss of step {} is not finite (a smaller --lr may help)", metrics.step));
    {
      const PauseRecording pause;
      last_predicted_ = predicted_tokens(*task_, outputs, batch.target);
      metrics.accuracy = accuracy(*task_, last_predicted_, batch.target);
    }
    const Gradients grads = tape.backward(loss);
    adam_.set_lr(metrics.lr);
    adam_.step(grads);
  }
  last_batch_ = batch;
  ++steps_;
  loss_sum_ += metrics.loss;
  accuracy_sum_ += metrics.accuracy;
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  metrics.tokens = batch.target.numel();
  metrics.tokens_per_s = static_cast<double>(metrics.tokens) / std::max(spent.count(), 1e-9);
  return metrics;
}

std::optional<train::EpochMetrics> Trainer::ended_epoch() const {
  if (steps_ == 0 || steps_ % options_.steps_per_epoch != 0) return {};
  const auto steps = static_cast<double>(options_.steps_per_epoch);
  return train::EpochMetrics{steps_ / options_.steps_per_epoch - 1, loss_sum_ / steps, accuracy_sum_ / steps};
}

train::Checkpoint Trainer::checkpoint() const {
  train::Checkpoint out;
  out.set("options", to_json(options_));
  out.set("steps", steps_);
  out.set("loss_sum", loss_sum_);
  out.set("accuracy_sum", accuracy_sum_);
  out.add(train::kGeneratorName, default_generator());
  out.bytes["task"] = task_->state();
  out.add(train::kModelPrefix, nn::state_dict(model_));
  out.add(train::kAdamPrefix, adam_.state());
  return out;
}

void Trainer::restore(const train::Checkpoint& checkpoint) {
  nn::load_state_dict(model_, checkpoint.with_prefix(train::kModelPrefix));
  adam_.load_state(checkpoint.with_prefix(train::kAdamPrefix));
  checkpoint.restore(train::kGeneratorName, default_generator());
  task_->set_state(checkpoint.bytes_named("task"));
  steps_ = checkpoint.get<int64_t>("steps");
  loss_sum_ = checkpoint.get<double>("loss_sum");
  accuracy_sum_ = checkpoint.get<double>("accuracy_sum");
}

std::string Trainer::settings_json(const train::Checkpoint& checkpoint) {
  return checkpoint.get<std::string>("options");
}

RunOptions Trainer::options_of(const train::Checkpoint& checkpoint, const TaskInfo& task) {
  return options_from_json("checkpoint", settings_json(checkpoint), task);
}

int64_t Trainer::steps_of(const train::Checkpoint& checkpoint) { return checkpoint.get<int64_t>("steps"); }

}  // namespace tapegrad::tasks
