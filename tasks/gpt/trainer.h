// Training of a GPT or a Llama on a text.
#pragma once

#include <tapegrad/nn/decoder.h>
#include <tapegrad/optim/adam.h>
#include <tapegrad/tasks/attention/head_map.h>
#include <tapegrad/tasks/gpt/data.h>
#include <tapegrad/tasks/train/loop.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tapegrad::tasks {

/// A GPT, or a Llama, in training. Draws come from the default generator in the order of chapter 5's PyTorch program:
/// the constructors', for every epoch the loader's, for every step the dropout masks', for every evaluation the
/// loaders'.
class GPTTrainer {
 public:
  /// Seeds the default generator and makes model and optimiser: AdamW with betas 0.9, 0.999 and eps 1e-8. With `start`,
  /// a model of these settings without updates of low rank, the parameters are copied from it instead of drawn.
  /// BadRequest about --freeze and --lora-targets.
  GPTTrainer(const GPTOptions& options, GPTData data, const nn::AnyDecoder* start = nullptr,
             const distributed::World& world = distributed::World::alone());

  train::StepMetrics step() { return loop_.step(); }
  std::optional<train::EpochMetrics> ended_epoch() const { return loop_.ended_epoch(); }
  train::Checkpoint checkpoint() const { return loop_.checkpoint(); }
  /// BadRequest where the text is another one than the run was started with.
  void restore(const train::Checkpoint& checkpoint);
  int64_t steps() const { return loop_.steps(); }
  bool finished() const { return loop_.finished(); }
  train::Loop& loop() { return loop_; }

  /// Mean losses over the tokens of `batches` batches of each part, or all where there are fewer. The model is in eval
  /// mode.
  train::Evaluation losses(int64_t batches) const;
  /// Before the first step, over all batches, drawn from the seed; the run's draws are not affected.
  train::Evaluation untrained_losses();
  /// The start context and what the model continues it with, greedily, in one line.
  std::string sample();
  /// The start context and `count` tokens that the model continues it with, greedily.
  std::vector<int64_t> continued(int64_t count);

  /// Attention maps of the model in eval mode.
  std::vector<HeadMap> heads(const std::vector<int64_t>& ids);

  /// The settings of the run that a checkpoint belongs to, and its tokenizer.
  static GPTOptions options_of(const train::Checkpoint& checkpoint);
  static std::unique_ptr<data::Tokenizer> tokenizer_of(const train::Checkpoint& checkpoint);
  /// The checksum of its text (GPTData::checksum).
  static uint64_t text_of(const train::Checkpoint& checkpoint);

  int64_t batches_per_epoch() const { return data_.train.size(); }
  const GPTOptions& options() const { return options_; }
  const data::Tokenizer& tokenizer() const { return *data_.tokenizer; }
  const nn::AnyDecoder& model() const { return model_; }

 private:
  train::LoopOptions loop_options(const distributed::World& world);

  GPTOptions options_;
  GPTData data_;
  nn::AnyDecoder model_;
  optim::AdamW adam_;
  train::Loop loop_;
};

}  // namespace tapegrad::tasks
