// A model of any of the text tasks, with what belongs to it: settings, vocabulary and classes.
#pragma once

#include <tapegrad/tasks/settings/run_request.h>
#include <tapegrad/tasks/text/corpus/encoded.h>
#include <tapegrad/tasks/train/loop.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

/// One of the three models.
struct TextModel {
  TextModel(TextTask task, const TextModelConfig& config);
  void visit(auto&& field) {
    field("classifier", classifier);
    field("summarizer", summarizer);
    field("finder", finder);
  }

  nn::Optional<TextClassifier> classifier;
  nn::Optional<Summarizer> summarizer;
  nn::Optional<AnswerFinder> finder;
};

/// The loss of a batch, its mean over examples, or over tokens for summaries, their number, and the share of them that
/// are right.
train::BatchLoss loss_of(const TextModel& model, const EncodedBatch& batch);

/// A trained model without its parameters.
struct TextSetup {
  TextOptions options;
  TextVocabulary vocabulary;
  std::vector<std::string> classes;  // classify only

  TextModelConfig model() const { return options.model(vocabulary.size(), static_cast<int64_t>(classes.size())); }
};

/// One prediction per example: a class, a summary (with a beam search, if `beams` > 1) or an answer. The model is in
/// eval mode; nothing is recorded.
std::vector<std::string> predict(const TextModel& model, const TextSetup& setup, std::span<const TextExample> examples,
                                 int64_t beams = 1);

/// model.safetensors with "config", "tokenizer", "classes", "steps" and "task" in its metadata, and back. BadRequest
/// for a model of another task.
void save_text_model(const fs::path& path, const TextModel& model, const TextSetup& setup, int64_t steps);
struct TrainedText {
  TextSetup setup;
  TextModel model;  // in eval mode
};
TrainedText load_text_model(const fs::path& path, TextTask task);

/// The classes as a JSON list, and back.
std::string classes_json(const std::vector<std::string>& classes);
std::vector<std::string> classes_from_json(std::string_view where, std::string_view json);

}  // namespace tapegrad::tasks
