// Training of a GPT on a text, one step at a time.
#pragma once

#include <tapegrad/nn/gpt.h>
#include <tapegrad/optim/adam.h>
#include <tapegrad/optim/schedule.h>
#include <tapegrad/tasks/data/tokenizer.h>
#include <tapegrad/tasks/data/windows.h>
#include <tapegrad/tasks/gpt/options.h>
#include <tapegrad/tasks/train/checkpoint.h>
#include <tapegrad/tasks/train/metrics.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tapegrad::tasks {

// A text as a GPT reads it: a part to train on and a part to validate with.
struct GPTData {
  std::unique_ptr<data::Tokenizer> tokenizer;
  data::TextLoader train, validation;
  std::vector<int64_t> start;  // what samples begin with
  uint64_t checksum;           // of the text
};
// Reads, splits and encodes what the options name; `tokenizer`, where it is given, instead of the one they name.
// BadRequest for files that are missing and texts that are too short.
GPTData load_gpt_data(const GPTOptions& options, std::unique_ptr<data::Tokenizer> tokenizer = {});
// What is trained on where no text is named: "three plus four is seven." and the like, every sum up to twenty.
std::string made_text();

// Mean losses over batches of the two parts, without dropout.
struct GPTLosses {
  double train = 0, validation = 0;
};

// A GPT in training. Draws come from the default generator in the order of chapter 5's PyTorch program: the
// constructors', for every epoch the loader's, for every step the dropout masks', for every evaluation the loaders'.
class GPTTrainer {
 public:
  // Seeds the default generator and makes model and optimiser: AdamW with betas 0.9, 0.999 and eps 1e-8.
  GPTTrainer(const GPTOptions& options, GPTData data);

  // One step: forward and backward over `accumulate` batches (fewer at the end of an epoch), and the update. Evaluates
  // afterwards where that is due: every eval_interval steps, beginning with the first. Error, before the update, when
  // the loss is not finite.
  train::StepMetrics step();
  // The epoch that ended with the last step, if one did.
  std::optional<train::EpochMetrics> ended_epoch() const;
  // Over `batches` batches of each part, fewer where there are fewer.
  GPTLosses losses(int64_t batches);
  // Before the first step, over all batches, drawn from the seed on; the run's draws go on as if this had not been.
  GPTLosses untrained_losses();
  // The start context and what the model continues it with, greedily, in one line.
  std::string sample();

  train::Checkpoint checkpoint() const;
  void restore(const train::Checkpoint& checkpoint);
  // The settings of the run that a checkpoint belongs to, and its tokenizer.
  static std::string settings_json(const train::Checkpoint& checkpoint);
  static GPTOptions options_of(const train::Checkpoint& checkpoint);
  static std::unique_ptr<data::Tokenizer> tokenizer_of(const train::Checkpoint& checkpoint);

  const GPTOptions& options() const { return options_; }
  const data::Tokenizer& tokenizer() const { return *data_.tokenizer; }
  const nn::GPTModel& model() const { return model_; }
  int64_t steps() const { return steps_; }
  int64_t steps_per_epoch() const;
  int64_t total_steps() const;
  int64_t epoch() const;  // of the last step, from 0
  bool finished() const { return steps_ >= total_steps(); }

 private:
  Gradients gradients(train::StepMetrics& metrics);

  GPTOptions options_;
  GPTData data_;
  nn::GPTModel model_;
  optim::AdamW adam_;
  optim::Schedule schedule_;
  std::optional<data::TextLoader::Iteration> iteration_;  // of the running epoch
  int64_t steps_ = 0;
  double loss_sum_ = 0, accuracy_sum_ = 0;  // over the steps of the running epoch
};

}  // namespace tapegrad::tasks
