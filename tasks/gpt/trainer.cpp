// Trains one step of a GPT, evaluates, and carries a run through a checkpoint.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/generate.h>
#include <tapegrad/optim/clip.h>
#include <tapegrad/tasks/data/utf8.h>
#include <tapegrad/tasks/gpt/trainer.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tapegrad::tasks {
namespace {

GPTOptions seeded(const GPTOptions& options) {
  manual_seed(options.seed);
  return options;
}

optim::Schedule schedule_of(const GPTOptions& o, int64_t total) {
  if (o.schedule == "noam") return optim::Noam{o.emb_dim, o.warmup, o.factor};
  // A run that is shorter than the rise ends with it.
  if (o.schedule == "warmup-cosine" && total > 0)
    return optim::WarmupCosine{o.lr, std::min(o.warmup, total - 1), total, o.min_lr};
  return optim::Constant{o.lr};
}

double accuracy_of(const Tensor& logits, const Tensor& targets) {
  return mean((argmax(logits, -1) == targets).to(kFloat64)).item();
}

double mean_loss(const nn::GPTModel& model, const data::TextLoader& loader, int64_t batches) {
  const int64_t count = std::min(batches, loader.size());
  data::TextLoader::Iteration iteration = loader.begin();
  data::TextBatch batch;
  double sum = 0;
  for (int64_t i = 0; i < count && iteration.next(batch); ++i) {
    sum += cross_entropy(model(batch.inputs), batch.targets).item();
  }
  return sum / static_cast<double>(count);
}

}  // namespace

GPTTrainer::GPTTrainer(const GPTOptions& options, GPTData data)
    : options_(seeded(options)),
      data_(std::move(data)),
      model_(options_.model(data_.tokenizer->size())),
      adam_(nn::parameters(model_), {.lr = options_.lr, .weight_decay = options_.weight_decay}),
      schedule_(schedule_of(options_, total_steps())) {
  model_.recompute_blocks = options_.recompute;
  nn::train(model_);
}

int64_t GPTTrainer::steps_per_epoch() const {
  return (data_.train.size() + options_.accumulate - 1) / options_.accumulate;
}

int64_t GPTTrainer::total_steps() const {
  const int64_t all = options_.num_epochs * steps_per_epoch();
  return options_.max_steps > 0 ? std::min(all, options_.max_steps) : all;
}

int64_t GPTTrainer::epoch() const { return steps_ == 0 ? 0 : (steps_ - 1) / steps_per_epoch(); }

// The mean over the step's batches.
Gradients GPTTrainer::gradients(train::StepMetrics& metrics) {
  const int64_t left = data_.train.size() - iteration_->position().batch;
  const int64_t batches = std::min(options_.accumulate, left);
  Gradients sum;
  for (int64_t i = 0; i < batches; ++i) {
    data::TextBatch batch;
    iteration_->next(batch);
    Tape tape;
    const Tensor logits = model_(batch.inputs);
    const Tensor loss = cross_entropy(logits, batch.targets);
    const auto share = 1 / static_cast<double>(batches);
    const double value = loss.item();
    if (!std::isfinite(value))
      fail("train", fmt::format("the loss of step {} is not finite (a smaller --lr may help)", metrics.step));
    metrics.loss += share * value;
    {
      const PauseRecording pause;
      metrics.accuracy += share * accuracy_of(logits, batch.targets);
    }
    metrics.tokens += batch.targets.numel();
    Gradients grads = batches == 1 ? tape.backward(loss) : tape.backward(loss * share);
    if (i == 0) {
      sum = std::move(grads);
      continue;
    }
    for (Gradients::Entry *own = sum.begin(), *more = grads.begin(); own != sum.end(); ++own, ++more) {
      own->grad = own->grad + more->grad;
      more->grad = Tensor();
    }
  }
  return sum;
}

train::StepMetrics GPTTrainer::step() {
  const auto start = std::chrono::steady_clock::now();
  if (!iteration_) {
    iteration_.emplace(data_.train.begin());
    loss_sum_ = accuracy_sum_ = 0;
  }
  train::StepMetrics metrics;
  metrics.step = steps_ + 1;
  metrics.lr = schedule_(metrics.step);
  {
    Gradients grads = gradients(metrics);
    if (options_.clip_grad > 0) optim::clip_grad_norm(grads, options_.clip_grad);
    adam_.set_lr(metrics.lr);
    adam_.step(grads);
  }
  ++steps_;
  loss_sum_ += metrics.loss;
  accuracy_sum_ += metrics.accuracy;
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  metrics.tokens_per_s = static_cast<double>(metrics.tokens) / std::max(spent.count(), 1e-9);
  if ((steps_ - 1) % options_.eval_interval == 0) {
    const GPTLosses found = losses(options_.eval_batches);
    if (!std::isfinite(found.train) || !std::isfinite(found.validation))
      fail("train", fmt::format("the losses after step {} are not finite (a smaller --lr may help)", steps_));
    metrics.train_loss = found.train;
    metrics.validation_loss = found.validation;
  }
  if (iteration_->position().batch == data_.train.size()) iteration_.reset();
  return metrics;
}

std::optional<train::EpochMetrics> GPTTrainer::ended_epoch() const {
  if (steps_ == 0 || iteration_) return {};
  const auto steps = static_cast<double>(steps_per_epoch());
  return train::EpochMetrics{epoch(), loss_sum_ / steps, accuracy_sum_ / steps};
}

GPTLosses GPTTrainer::losses(int64_t batches) {
  nn::eval(model_);
  const double train = mean_loss(model_, data_.train, batches);
  const GPTLosses found{train, mean_loss(model_, data_.validation, batches)};
  nn::train(model_);
  return found;
}

GPTLosses GPTTrainer::untrained_losses() {
  const Generator now = default_generator();
  manual_seed(options_.seed);
  const GPTLosses found = losses(std::max(data_.train.size(), data_.validation.size()));
  default_generator() = now;
  return found;
}

std::string GPTTrainer::sample() {
  std::vector<int64_t> ids = data_.start;
  nn::eval(model_);
  nn::GPTNext next(model_);
  for (int64_t i = 0; i < options_.sample_tokens; ++i) {
    const Tensor scores = next.logits(tensor(ids, {1, static_cast<int64_t>(ids.size())}));
    ids.push_back(argmax(scores).item<int64_t>());
  }
  nn::train(model_);
  std::string text = data::valid_utf8(tokenizer().decode(ids));
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// --- checkpoints ---

train::Checkpoint GPTTrainer::checkpoint() const {
  const data::TextLoader::Position* const at = iteration_ ? &iteration_->position() : nullptr;
  train::Checkpoint out;
  out.set("options", to_json(options_));
  out.set("tokenizer", tokenizer().json());
  out.set("text", data_.checksum);
  out.set("steps", steps_);
  out.set("loss_sum", loss_sum_);
  out.set("accuracy_sum", accuracy_sum_);
  out.set("batch", at ? at->batch : int64_t{0});
  if (at && at->order_seed) out.set("order_seed", *at->order_seed);
  out.add(train::kGeneratorName, default_generator());
  out.add(train::kModelPrefix, nn::state_dict(model_));
  out.add(train::kAdamPrefix, adam_.state());
  return out;
}

void GPTTrainer::restore(const train::Checkpoint& checkpoint) {
  if (checkpoint.get<uint64_t>("text") != data_.checksum) {
    refuse("train --resume", fmt::format("{} is not the text any more that the run was started with",
                                         options_.text.empty() ? "what this version makes" : options_.text));
  }
  nn::load_state_dict(model_, checkpoint.with_prefix(train::kModelPrefix));
  adam_.load_state(checkpoint.with_prefix(train::kAdamPrefix));
  checkpoint.restore(train::kGeneratorName, default_generator());
  steps_ = checkpoint.get<int64_t>("steps");
  loss_sum_ = checkpoint.get<double>("loss_sum");
  accuracy_sum_ = checkpoint.get<double>("accuracy_sum");
  iteration_.reset();
  data::TextLoader::Position at{.batch = checkpoint.get<int64_t>("batch"), .order_seed = {}};
  if (at.batch == 0) return;
  if (checkpoint.has("order_seed")) at.order_seed = checkpoint.get<uint64_t>("order_seed");
  iteration_.emplace(data_.train.resume(at));
}

GPTOptions GPTTrainer::options_of(const train::Checkpoint& checkpoint) {
  return gpt_options_from_json("checkpoint", checkpoint.get<std::string>("options"));
}

std::unique_ptr<data::Tokenizer> GPTTrainer::tokenizer_of(const train::Checkpoint& checkpoint) {
  return data::parse_tokenizer(checkpoint.get<std::string>("tokenizer"), "checkpoint");
}

}  // namespace tapegrad::tasks
