// Runs that train a GPT or a Llama on a text.
#pragma once

#include <tapegrad/nn/decoder.h>
#include <tapegrad/tasks/attention/head_map.h>
#include <tapegrad/tasks/gpt/data.h>
#include <tapegrad/tasks/gpt/model.h>
#include <tapegrad/tasks/run/recipe.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tapegrad::tasks {

/// AdamW with betas 0.9, 0.999 and eps 1e-8. Draws come from the default generator in the order of chapter 5's PyTorch
/// program: the constructors', for every epoch the loader's, for every step the dropout masks', for every evaluation
/// the loaders'. The losses of evaluations and the samples go to standard output, in the format of chapter 5;
/// everything else goes to standard error.
class GPTRecipe final : public Recipe {
 public:
  GPTRecipe() : options_(gpt_options(kGPTDefaultPreset)) {}
  explicit GPTRecipe(GPTOptions options) : options_(std::move(options)) {}

  const GPTOptions& options() const { return options_; }
  const data::Tokenizer& tokenizer() const { return *data_->tokenizer; }
  const nn::AnyDecoder& decoder() const { return *model_; }
  /// Before the first step, over all batches, drawn from the seed; the run's draws are not affected.
  train::Evaluation untrained_losses();
  /// The start context and what the model continues it with, greedily, in one line.
  std::string sample();

  std::string_view name() const override { return kGPTTask; }
  void list(Fields& fields) override { options_.list(fields); }
  TrainingSettings& training() override { return options_; }
  std::string json() override { return to_json(options_); }
  void read_json(std::string_view where, std::string_view text) override {
    options_ = gpt_options_from_json(where, text);
  }
  void list_request(Fields& fields) override;
  /// The preset's settings, or those of the model of --from, which is loaded.
  void adapt(const Given& given) override;
  void fill_in() override { tasks::fill_in(options_); }
  void resolve() override { tasks::resolve(options_); }
  void open(const train::Checkpoint* saved) override;
  double bytes(int64_t processes) override { return training_bytes(options_, tokenizer().size(), processes); }
  /// With --from, parameters are copied instead of drawn. BadRequest about --freeze and --lora-targets.
  void make() override;
  nn::AnyModel model() override { return nn::AnyModel(*model_); }
  void prepare(const RunRequest& request, const distributed::World& world) override;
  optim::Schedule schedule(int64_t steps) override { return options_.schedule_of(options_.sizes().width, steps); }
  int64_t batches_per_epoch() const override { return data_->train.size(); }
  std::unique_ptr<train::Loop> loop(optim::Optimizer& optimizer, train::LoopOptions options) override;
  void begin_step(int64_t steps) override;
  int64_t evaluate_every() const override { return options_.eval_interval; }
  int64_t patience() const override { return options_.patience; }
  train::Evaluation evaluate() override { return losses(options_.eval_batches); }
  void save(train::Checkpoint& out) override;
  void write_model(const fs::path& path, int64_t steps) override;
  bool keep_best() const override { return keep_best_; }
  void finish() override;
  std::string announcement(const train::Loop& loop) override;
  std::string before_first_step() override;
  bool prints_results() const override { return true; }
  std::string evaluation_text(const train::StepMetrics& step, const train::Loop& loop) override;
  std::string epoch_text(train::EpochMetrics& epoch, const train::StepMetrics& last, const train::Loop& loop) override;
  std::vector<NextCall> next() override;
  train::ReportText report() override;

 private:
  // Mean losses over the tokens of `batches` batches of each part, or all where there are fewer.
  train::Evaluation losses(int64_t batches) const;
  // The start context and `count` tokens that the model continues it with, greedily.
  std::vector<int64_t> continued(int64_t count);
  // The attention of every head to the start context and its greedy continuation.
  std::string maps_html();
  std::string run() const { return run_name(options_, tokenizer(), data_->checksum); }

  GPTOptions options_;
  std::string hugging_face_;  // folder for the model as Hugging Face's GPT-2; empty: none
  bool keep_best_ = false;
  bool with_masks_ = false;  // nn::with_masks: the model's files load in tutorial 000's code
  bool untrained_losses_ = false;
  std::optional<TrainedGPT> start_;  // of --from, until the model is made
  Given given_;
  std::optional<GPTData> data_;
  std::optional<nn::AnyDecoder> model_;
  const distributed::World* world_ = &distributed::World::alone();
  std::unique_ptr<train::RunFolder> folder_;  // of --save-hugging-face, in the first process
};

/// Every head of a decoder that reads `ids`, which fit into its context. Rows are labelled with the tokens' texts, or
/// their ids where there is no tokenizer. `logits`: becomes [T, V], those of each token's successor.
std::vector<HeadMap> attend(const nn::Decoder& model, const std::vector<int64_t>& ids, const data::Tokenizer* tokenizer,
                            Tensor* logits = nullptr);
/// The text of a token as a label of at most twelve characters; spaces and control characters are shown.
std::string token_label(int64_t id, const data::Tokenizer* tokenizer);

}  // namespace tapegrad::tasks
