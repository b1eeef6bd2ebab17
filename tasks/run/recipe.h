// A kind of run: its settings, data, model, loss and texts. What all kinds do is written once over it: training and
// resuming (train.h), model files (model_file.h) and the options of the command (command.h).
//
// To add a kind of run: a class derived from Recipe, in a folder with its data and its model, and one line in the list
// of kinds (kinds.cpp).
#pragma once

#include <tapegrad/nn/module.h>
#include <tapegrad/optim/adam.h>
#include <tapegrad/tasks/settings/training.h>
#include <tapegrad/tasks/settings/verb_options.h>
#include <tapegrad/train/loop.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapegrad::tasks {

using ModelText = std::map<std::string, std::string>;  // the metadata of a model file
using NextCall = std::pair<std::string, std::string>;

/// "1 epoch", "2 epochs".
std::string counted(int64_t count, std::string_view unit);

/// One run with its settings, its data and its model. A run calls these functions in the order of their
/// declaration. Up to prepare() each may reject the request with a BadRequest; nothing has been written by then.
class Recipe {
 public:
  Recipe() = default;
  virtual ~Recipe() = default;
  Recipe(const Recipe&) = delete;
  Recipe& operator=(const Recipe&) = delete;

  /// "copy": the word on the command line, and the task in checkpoints and model files.
  virtual std::string_view name() const = 0;

  // --- settings ---
  /// All settings of the run, which checkpoints, model files and the report have.
  virtual void list(Fields& fields) = 0;
  /// Those that every run has; list() lists them, too.
  virtual TrainingSettings& training() = 0;
  /// The settings as JSON, as those files have them, and back. Error about `where`, as tasks::from_json says.
  virtual std::string json() { return to_json(name(), fields_of(*this)); }
  virtual void read_json(std::string_view where, std::string_view text) {
    from_json(where, text, name(), fields_of(*this));
  }
  /// Options of `train` that are not settings of the run.
  virtual void list_request(Fields& /*fields*/) {}
  /// For a new run: changes defaults that depend on the options `given` by name.
  virtual void adapt(const Given& /*given*/) {}
  /// Fills in the settings that follow from others: those whose 0 means another value.
  virtual void fill_in() {}
  /// Fills in, and checks. BadRequest that names the first option that is not possible.
  virtual void resolve() = 0;

  // --- data and model ---
  /// Reads the data. `saved`: the checkpoint of the run that is continued, which must have been of the same data;
  /// nullptr for a new run.
  virtual void open(const train::Checkpoint* saved) = 0;
  /// For a trained model instead: reads what a model file has besides settings and parameters. Error about `path`.
  virtual void open_trained(const fs::path& /*path*/, const ModelText& /*text*/) {}
  /// An estimate of the bytes that training takes at its peak, in each of so many processes.
  virtual double bytes(int64_t processes) = 0;
  /// Makes the model. The default generator has been seeded.
  virtual void make() = 0;
  virtual nn::AnyModel model() = 0;  ///< valid as long as the recipe
  /// Takes more folders than --out.
  virtual void prepare(const RunRequest& /*request*/, const distributed::World& /*world*/) {}

  // --- training ---
  /// Of AdamW; make_optimizer says what other rules take of them.
  virtual optim::AdamWOptions optimizer() { return {.lr = training().lr, .weight_decay = training().weight_decay}; }
  /// The learning rate of a run of so many steps.
  virtual optim::Schedule schedule(int64_t steps) = 0;
  virtual int64_t batches_per_epoch() const = 0;
  /// The training loop over model, batches and loss:
  ///   return std::make_unique<train::Loop>(model_, optimizer, loader_, loss, std::move(options));
  virtual std::unique_ptr<train::Loop> loop(optim::Optimizer& optimizer, train::LoopOptions options) = 0;
  /// Called before each step, after so many.
  virtual void begin_step(int64_t /*steps*/) {}
  virtual int64_t evaluate_every() const { return 0; }  ///< steps; 0: never
  virtual int64_t patience() const { return 0; }        ///< LoopOptions::patience
  /// Losses of the validation part; the model is in eval mode, and nothing is recorded.
  virtual train::Evaluation evaluate() { return {}; }

  // --- files ---
  /// What a checkpoint has besides settings, model and loop.
  virtual void save(train::Checkpoint& /*out*/) {}
  /// What a model file has besides settings and parameters.
  virtual ModelText model_text() { return {}; }
  /// Writes the model after so many steps; the best one too.
  virtual void write_model(const fs::path& path, int64_t steps);
  virtual bool keep_best() const { return false; }
  /// Writes more files, when the run has ended with all of its own.
  virtual void finish() {}

  // --- texts ---
  /// Printed before the first step.
  virtual std::string announcement(const train::Loop& loop) = 0;
  /// A line on standard output before the first step of a new run; empty: none.
  virtual std::string before_first_step() { return {}; }
  /// Whether evaluations and epochs are results, which standard output gets alone and without --no-progress, too.
  virtual bool prints_results() const { return false; }
  virtual std::string evaluation_text(const train::StepMetrics& step, const train::Loop& loop);
  /// May add a sample to the metrics. Empty: nothing is printed.
  virtual std::string epoch_text(train::EpochMetrics& epoch, const train::StepMetrics& last, const train::Loop& loop);
  virtual std::string end_text(const train::StepMetrics& /*last*/) { return {}; }
  /// Calls of the command that use the trained model, and what for: {"test copy", "new examples"}.
  virtual std::vector<NextCall> next();
  /// The words of the report: title, about, loss, accuracy and unit. The model is in eval mode for `sections`.
  virtual train::ReportText report() = 0;
};

using MakeRecipe = std::function<std::unique_ptr<Recipe>()>;  // with the defaults of its kind

}  // namespace tapegrad::tasks
