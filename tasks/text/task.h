// What a text task provides to its dataset, to training and to the command.
//
// To add a task: a class derived from TextTask in a file of its own, with its settings, its model and its scores, and a
// line in the list of tasks (tasks.cpp).
#pragma once

#include <tapegrad/autograd/tensor.h>
#include <tapegrad/nn/module_walk.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/settings/settings.h>
#include <tapegrad/tasks/text/corpus/examples.h>
#include <tapegrad/train/loop.h>
#include <tapegrad/train/metrics/classification.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapegrad::tasks {

struct Package;
struct TextOptions;
struct TextModelConfig;

struct TextScores {
  int64_t examples = 0;
  /// Names and values; the first is what --target is about.
  std::vector<std::pair<std::string, double>> values;
  std::optional<metrics::ConfusionMatrix> confusion = {};  // of tasks with classes
};

/// What examples are encoded with, and predictions decoded.
struct TextCode {
  const TextVocabulary& vocabulary;
  const std::vector<std::string>& classes;  // of tasks with classes
};

/// Examples to predict, as tokens.
struct TextQuery {
  EncodedBatch batch;
  int64_t beams = 1;                              // of tasks that generate text
  std::vector<const TextExample*> examples = {};  // one for each row of the batch
  std::vector<const EncodedExample*> encoded = {};
};

/// The model of a task, with parameters under the task's names.
class TextModel {
 public:
  virtual ~TextModel() = default;
  virtual void walk(nn::Visitor& visitor) = 0;
  /// The loss of a batch, the share of its terms that are right, and their number.
  virtual train::BatchLoss loss(const EncodedBatch& batch) const = 0;
  /// One text for each row: a class, a summary or an answer. The model is in eval mode; nothing is recorded.
  virtual std::vector<std::string> predict(const TextQuery& query, const TextCode& code) const = 0;
};

class TextTask {
 public:
  struct Words {
    std::string_view name, help;                        ///< "classify"
    std::string_view target;                            ///< the target's name in files
    std::string_view target_help;                       ///< of the option --target
    std::string_view baseline;                          ///< "majority class"
    std::string_view terms = translatable("examples");  ///< that the loss is the mean over
  };
  Words words;
  bool has_classes = false;  ///< targets are classes, which the training examples name
  bool asks = false;         ///< examples have questions, and targets are parts of the text
  bool generates = false;    ///< targets are new texts, which a beam search may write

  explicit TextTask(const Words& words) : words(words) {}
  virtual ~TextTask() = default;
  TextTask(const TextTask&) = delete;
  TextTask& operator=(const TextTask&) = delete;

  // --- data ---
  virtual TextExample example_of(const Package& package) const = 0;
  /// Encodes the target of an example whose text is encoded. False where it cannot be learned; it is then 0.
  virtual bool encode_target(const TextOptions& options, const TextExample& example, const TextCode& code,
                             EncodedExample& encoded) const = 0;

  // --- settings and model ---
  /// Sets the defaults of the settings that depend on the task.
  virtual void set_defaults(TextOptions& /*options*/) const {}
  /// The settings of the model that not every task has.
  virtual void list(TextOptions& options, Fields& fields) const = 0;
  virtual std::unique_ptr<TextModel> model(const TextModelConfig& config) const = 0;

  // --- scores ---
  /// Of one prediction per example. A class that is not in `classes` counts as wrong.
  virtual TextScores score(std::span<const TextExample> examples, std::span<const std::string> predictions,
                           const std::vector<std::string>& classes) const = 0;
  /// The predictions of a baseline that learns nothing: guess() for each example, unless it counts `training`.
  virtual std::vector<std::string> baseline(std::span<const TextExample> training,
                                            std::span<const TextExample> examples) const;

 protected:
  virtual std::string guess(const TextExample& /*example*/) const { return {}; }
};

/// The tasks, in the order of --help, and one of them. Error for a name that none has.
std::span<const TextTask* const> text_tasks();
const TextTask& text_task(std::string_view name);

/// The class names in the examples, sorted.
std::vector<std::string> classes_of(std::span<const TextExample> examples);

}  // namespace tapegrad::tasks
