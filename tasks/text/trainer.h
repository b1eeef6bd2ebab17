// Training of the text tasks.
#pragma once

#include <tapegrad/optim/adam.h>
#include <tapegrad/tasks/data/data_loader.h>
#include <tapegrad/tasks/text/scores.h>
#include <tapegrad/tasks/text/text_model.h>

#include <optional>
#include <string>
#include <vector>

namespace tapegrad::tasks {

/// The examples of a run, and its vocabulary and classes.
struct TextData {
  Corpus corpus;
  TextVocabulary vocabulary;
  std::vector<std::string> classes;
  uint64_t checksum;  // of the training examples
};
/// Reads the examples; trains the vocabulary, unless `saved` has that of the run that is continued. BadRequest where
/// files are missing or wrong, and where the examples are not those of the saved run.
TextData load_text_data(const TextOptions& options, const train::Checkpoint* saved = nullptr);

/// A model in training: AdamW with betas 0.9, 0.999. Batches have texts of similar length. Draws come from the default
/// generator: the constructors', for every epoch the loader's, for every step the dropout masks'.
class TextTrainer {
 public:
  TextTrainer(const TextOptions& options, TextData data, const distributed::World& world = distributed::World::alone());

  train::StepMetrics step() { return loop_.step(); }
  train::Loop& loop() { return loop_; }
  train::Checkpoint checkpoint() const { return loop_.checkpoint(); }
  void restore(const train::Checkpoint& checkpoint) { loop_.restore(checkpoint); }

  /// The mean loss over the first `eval_examples` of the validation part, or over their tokens for summaries.
  double validation_loss() const;
  /// Predictions in eval mode, and scores, for the first `count` examples of a part.
  std::vector<std::string> predict_part(Part part, int64_t count);
  TextScores scores(Part part, int64_t count, const std::vector<std::string>& predictions) const;

  const TextSetup& setup() const { return setup_; }
  const Corpus& corpus() const { return corpus_; }
  const TextModel& model() const { return model_; }
  TextModel& model() { return model_; }

 private:
  train::LoopOptions loop_options(uint64_t checksum, const distributed::World& world);

  Corpus corpus_;
  TextSetup setup_;
  EncodedExamples training_, validation_;
  data::DataLoader<EncodedExamples> loader_;
  TextModel model_;
  optim::AdamW adam_;
  train::Loop loop_;
};

/// The settings of the run that a checkpoint belongs to.
TextOptions options_of(const train::Checkpoint& checkpoint, TextTask task);

}  // namespace tapegrad::tasks
