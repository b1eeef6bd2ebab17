// Runs of the text tasks.
#pragma once

#include <tapegrad/tasks/run/recipe.h>
#include <tapegrad/tasks/text/corpus/corpus.h>
#include <tapegrad/tasks/text/options.h>
#include <tapegrad/tasks/text/task.h>
#include <tapegrad/train/data/data_loader.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tapegrad::tasks {

/// A run trains a vocabulary on its texts first. Batches have texts of similar length. Draws come from the default
/// generator: the constructors', for every epoch the loader's, for every step the dropout masks'.
class TextRecipe final : public Recipe {
 public:
  explicit TextRecipe(const TextTask& task) : options_(task) {}
  explicit TextRecipe(TextOptions options) : options_(std::move(options)) {}

  const TextOptions& options() const { return options_; }
  const TextTask& task() const { return *options_.task; }
  const Corpus& corpus() const { return corpus_; }
  /// Predictions in eval mode, and scores, for examples of any data.
  std::vector<std::string> predict(std::span<const TextExample> examples, int64_t beams = 1);
  TextScores score(std::span<const TextExample> examples, std::span<const std::string> predictions) const;
  /// Scores of the baseline for the same examples.
  TextScores baseline(std::span<const TextExample> training, std::span<const TextExample> examples) const;

  std::string_view name() const override { return options_.task->words.name; }
  void list(Fields& fields) override { options_.list(fields); }
  TrainingSettings& training() override { return options_; }
  void resolve() override { tasks::resolve(options_); }
  /// BadRequest where files are missing or wrong, and where the examples are not those of the saved run.
  void open(const train::Checkpoint* saved) override;
  void open_trained(const fs::path& path, const ModelText& text) override;
  double bytes(int64_t processes) override { return training_bytes(options_, processes); }
  void make() override;
  nn::AnyModel model() override { return nn::AnyModel(*model_); }
  void prepare(const RunRequest&, const distributed::World& world) override { world_ = &world; }
  optim::Schedule schedule(int64_t steps) override { return options_.schedule_of(options_.config.hidden_size, steps); }
  int64_t batches_per_epoch() const override { return loader_->size(); }
  std::unique_ptr<train::Loop> loop(optim::Optimizer& optimizer, train::LoopOptions options) override;
  int64_t evaluate_every() const override { return options_.eval_interval; }
  /// The mean loss over the first --eval-examples of the validation part, or over their tokens for summaries.
  train::Evaluation evaluate() override;
  void save(train::Checkpoint& out) override;
  ModelText model_text() override;
  std::string announcement(const train::Loop& loop) override;
  train::ReportText report() override;

 private:
  TextCode code() const { return {*vocabulary_, classes_}; }
  EncodedExamples encode_part(Part part) const;
  std::string sections();

  TextOptions options_;
  Corpus corpus_;
  uint64_t checksum_ = 0;  // of the training examples
  std::optional<TextVocabulary> vocabulary_;
  std::vector<std::string> classes_;
  std::optional<EncodedExamples> validation_;
  std::optional<data::DataLoader<EncodedExamples>> loader_;  // of the training part
  std::unique_ptr<TextModel> model_;
  const distributed::World* world_ = &distributed::World::alone();
};

/// The first `count` examples, or all where there are fewer.
std::span<const TextExample> first_of(const std::vector<TextExample>& examples, int64_t count);

/// Encodes examples. For training (`complete`), those are left out whose target cannot be learned: a class that is not
/// in `code.classes`, an answer beyond the context.
EncodedExamples encode(const TextOptions& options, std::span<const TextExample> examples, const TextCode& code,
                       bool complete);

/// One prediction per example, with a beam search of that width where the task generates texts. The model is in eval
/// mode; nothing is recorded.
std::vector<std::string> predict(const TextModel& model, const TextOptions& options, const TextCode& code,
                                 std::span<const TextExample> examples, int64_t beams = 1);

}  // namespace tapegrad::tasks
