// The loss of a batch, and the settings in a checkpoint.
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tasks/seq2seq/trainer.h>
#include <tapegrad/tasks/settings/run_request.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

RunOptions seeded(const RunOptions& options) {
  options.seed_draws();
  return options;
}

}  // namespace

Trainer::Trainer(const RunOptions& options, const distributed::World& world)
    : options_(seeded(options)),
      task_(options_.info->make(options_)),
      model_(options_.model()),
      adam_(nn::parameters(model_),
            {.lr = options_.lr, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9, .weight_decay = options_.weight_decay}),
      draws_{*task_, options_},
      loop_(
          model_, adam_, draws_, [this](const Batch& batch) { return loss_of(batch); }, loop_options(world)) {}

train::LoopOptions Trainer::loop_options(const distributed::World& world) {
  const RunOptions& o = options_;
  return {.epochs = o.num_epochs,
          .max_steps = o.max_steps,
          .accumulate = o.accumulate,
          .clip_grad_norm = o.clip_grad,
          .dtype = o.products(),
          // A run that is shorter than the warm-up ends while the rate rises.
          .schedule = o.schedule_of(o.config.hidden_size, std::max(o.total_steps(), o.warmup + 1)),
          .save = [&o](train::Checkpoint& out) { out.set("options", to_json(o)); },
          .begin_step =
              [this] {
                if (options_.attention.redraws(loop_.steps())) model_.redraw_features();
              },
          .world = &world,
          .wire = o.wire_type()};
}

train::BatchLoss Trainer::loss_of(const Batch& batch) {  // source [B, S], target [B, T]
  if (!causal_.defined() || causal_.size(0) != batch.target.size(1)) causal_ = nn::causal_mask(batch.target.size(1));
  const Tensor outputs =  // [B, T, V]
      model_(batch.source, shifted(*task_, batch.target), task_->source_mask(batch.source), causal_);
  const Tensor loss = task_->loss(outputs, batch.target);
  const PauseRecording pause;
  last_batch_ = batch;
  last_predicted_ = predicted_tokens(*task_, outputs, batch.target);
  return {.loss = loss,
          .accuracy = accuracy(*task_, last_predicted_, batch.target),
          .tokens = batch.target.numel(),
          .terms = static_cast<double>(batch.target.size(0))};
}

RunOptions Trainer::options_of(const train::Checkpoint& checkpoint, const TaskInfo& task) {
  return options_from_json("checkpoint", settings_json(checkpoint), task);
}

}  // namespace tapegrad::tasks
