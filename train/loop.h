// The training loop: any model, any optimiser, any source of batches, and a function from a batch to a loss; in one
// process or in several.
#pragma once

#include <tapegrad/autograd/profiler.h>
#include <tapegrad/distributed/data_parallel.h>
#include <tapegrad/nn/module.h>
#include <tapegrad/optim/gradient_transform.h>
#include <tapegrad/optim/optimizer.h>
#include <tapegrad/optim/schedule.h>
#include <tapegrad/train/checkpoint.h>
#include <tapegrad/train/epochs.h>
#include <tapegrad/train/metrics.h>
#include <tapegrad/train/parts.h>
#include <tapegrad/train/progress.h>
#include <tapegrad/train/report.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapegrad::train {
namespace detail {
class ShardWriter;
}  // namespace detail

/// What the function from a batch to a loss returns.
struct BatchLoss {
  Tensor loss;                     ///< one number, a mean over `terms`; backward starts here
  double accuracy = kNotMeasured;  ///< share of the terms that are right
  int64_t tokens = 0;              ///< tokens, images or other units of the batch (ReportText::unit), for the speed
  /// How much the batch counts in a step of several batches, and the step in the means of its epoch: the number of
  /// terms that `loss` is the mean of (examples, or targets that are not padding), so that the step equals a step of
  /// one large batch. With the default, all batches count alike, however large they are. 0: nothing in the batch
  /// counts, and the loss may be NaN; a step without terms throws Error, and so does a number that is negative or not
  /// finite.
  double terms = 1;
};

/// The result of your own step: the loss, which is only shown, and other metrics, each with its own curve.
struct StepResult {
  double loss = 0;                   ///< mean over the terms
  std::vector<Figure> figures = {};  ///< the same names in every step
  double accuracy = kNotMeasured;    ///< share of the terms that are right
  int64_t tokens = 0;                ///< as in BatchLoss
  double terms = 1;                  ///< as in BatchLoss
};

/// Mean losses of an evaluation. `validation` decides which model is best, and when a run stops early.
struct Evaluation {
  double validation = 0;                ///< mean loss on data that training does not use
  std::optional<double> training = {};  ///< mean loss on training data; none: not measured
};

/// How the model is trained.
struct LoopOptions {
  int64_t epochs = 1;     ///< at least 1
  int64_t max_steps = 0;  ///< stop after that many steps; 0: no limit
  /// Batches per step, whose gradients are averaged over BatchLoss::terms; fewer batches at the end of an epoch. A
  /// multiple of the number of processes. With more than one, each batch has its own random numbers
  /// (distributed::BatchDraws).
  int64_t accumulate = 1;
  double clip_grad_norm = 0;  ///< 0: no clipping
  /// Further changes of the gradients before the update, in this order, after clip_grad_norm.
  std::vector<optim::GradientTransform> transforms = {};
  DType dtype = kFloat32;  ///< of matrix multiplications; kBFloat16 as with Autocast, but evaluations stay float32
  std::optional<optim::Schedule> schedule = {};  ///< the learning rate of each step; none: the optimiser's
  /// Called after the first step, then every `evaluate_every` steps, and after the last step of the run, with the model
  /// in eval mode and nothing recorded. Afterwards each module has the mode that it had before.
  std::function<Evaluation()> evaluate = {};
  int64_t evaluate_every = 0;  ///< 0: never
  int64_t patience = 0;        ///< stop after that many evaluations in a row without a lower validation loss; 0: never
  /// Write more of the program's state to a checkpoint, and read it back, before the loop's own state is restored.
  std::function<void(Checkpoint&)> save = {};
  std::function<void(const Checkpoint&)> load = {};
  /// Called once per step, before its first forward pass and after its first batch was read, by every process.
  std::function<void()> begin_step = {};
  /// Called after the update of each step, before an evaluation, by every process: for averages of weights, and so on.
  std::function<void(int64_t step)> after_step = {};
  /// The processes that train together, each with its own loop over the same data; nullptr: this one alone. A run is
  /// bit-identical for any number of them. It must outlive the loop.
  const distributed::World* world = nullptr;
  DType wire = kFloat32;  ///< of gradients between processes (distributed::DataParallelOptions::wire)
};

/// The most gradients of one parameter that a process holds at the same time, for an estimate of its memory.
/// `transforms`: whether gradients are clipped or changed otherwise before the update.
int64_t gradients_at_once(int64_t accumulate, bool transforms, int64_t processes);

/// Where a run writes its files, and what it prints. If the folder is moved during the run, the run continues in it. Of
/// several processes, the first one does both, and calls these functions; all of them read the checkpoint of the
/// folder, and each writes its share of a checkpoint while the next steps run (if all can access the folder).
struct RunFiles {
  std::string folder;              ///< created where it is missing; one run at a time may use it
  bool resume = false;             ///< continue from the folder's checkpoint, if there is one
  int64_t checkpoint_every = 100;  ///< steps between two checkpoints
  bool keep_best = false;  ///< write best.safetensors after each evaluation with the lowest validation loss so far
  bool progress = true;    ///< a progress bar on a terminal, lines elsewhere
  bool trap_nan = false;   ///< Tape::trap_nan: stop at the first value that is not finite, and name its operation
  /// Write an event file for TensorBoard, too (events.h): the numbers of metrics.jsonl, samples, `report.settings`, and
  /// after each evaluation a histogram of every parameter. A resumed run continues one that is there.
  bool tensorboard = false;
  /// Time that many steps from the first one on, then write trace.json and print where their time went; 0: none.
  int64_t profile_steps = 0;
  std::FILE* messages = stdout;   ///< start, steps, epochs and end; the bar goes to standard error
  std::string announcement = {};  ///< printed before the first step
  ReportText report = {};         ///< the words and sections of report.html, and the bar's unit
  /// Called after each evaluation and after each epoch; `ended_epoch` may add a sample to the metrics. Without them, a
  /// line is printed.
  std::function<void(const StepMetrics&, Progress&)> evaluated = {};
  std::function<void(EpochMetrics&, const StepMetrics&, Progress&)> ended_epoch = {};
  /// Called instead of printing a profile.
  std::function<void(const ProfileReport&, Progress&)> profiled = {};
  /// Called after the last step, before the results are written.
  std::function<void(const StepMetrics&)> ended = {};
  /// Writes the model, the best one too. Without it, the file has the parameters and checksums.
  std::function<void(const std::string& path)> save_model = {};
};

/// What Loop::run throws after Ctrl-C or SIGTERM, when it has written a checkpoint.
class Interrupted : public Error {
 public:
  using Error::Error;
};

/// A model in training, one step at a time or as a run with all its files:
///
///     train::Loop loop(model, adam, loader, [&](const Batch& b) { return train::BatchLoss{loss_of(model, b)}; },
///                      {.epochs = 10, .clip_grad_norm = 1});
///     loop.run({.folder = "out/mine", .resume = true});
///
/// `source` is a DataLoader, or an object with next(), size(), save() and load() as Epochs has them. Model, optimiser
/// and source must outlive the loop. A run that was killed and resumed ends bit-identical to an uninterrupted one.
///
/// The constructor puts the model into training mode. Modules that are to stay in eval mode, such as a BatchNorm whose
/// statistics are frozen, are put into it afterwards: nn::eval(model.norm).
class Loop {
 public:
  template <class Model, class Source, class LossOf>
  Loop(Model& model, optim::Optimizer& optimizer, Source& source, LossOf loss_of, LoopOptions options = {});

  /// A training run with your own step, a function from a batch to a StepResult: with any number of tapes, models and
  /// optimisers, which `parts` names. A source without data is StepCount.
  ///
  ///     train::Loop loop(parts, loader, [&](const Batch& b) -> train::StepResult {
  ///       const double of_critic = train_critic(b), of_generator = train_generator(b);
  ///       return {.loss = of_generator, .figures = {{"critic loss", of_critic}}};
  ///     });
  ///
  /// In one process only. The step itself is responsible for accumulation, clipping, bfloat16, NaN traps and schedules
  /// (Parts::add takes a schedule): Error if the options set them.
  template <class Source, class Step>
  Loop(Parts& parts, Source& source, Step step, LoopOptions options = {});

  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// One step: forward and backward over `accumulate` batches, the update, and an evaluation where one is due. Error,
  /// before the update, when the loss is not finite. After a failed step, further steps throw Error until a checkpoint
  /// is restored: batches were read that no update has used.
  StepMetrics step();
  /// The loss of the next batch, recorded by `tape`, which must be the innermost one: to look at a step (graph.h).
  /// Nothing is updated, and the batch is lost: further steps throw Error until a checkpoint is restored. Error for a
  /// loop with your own step.
  BatchLoss next_loss(Tape& tape);
  /// The loss of the next batch as a function, which may be called any number of times, with or without a tape. The
  /// batch is lost, as by next_loss(). The same Error, and one for batches that cannot be copied.
  std::function<Tensor()> loss_of_next_batch();
  /// The means of the epoch that ended with the last step, if one did.
  std::optional<EpochMetrics> ended_epoch() const;
  /// evaluate() in eval mode. In a run of several processes, each of them evaluates; steps and `best` use the losses of
  /// the first one.
  Evaluation evaluate() const;

  /// Saves everything that the rest of the training depends on, and restores it. `save` of the options may use any
  /// names but the loop's own: those that begin with "model.", "adam." or "epoch.", "generator", "steps",
  /// "steps_per_epoch", "batch", "loss_sum", "accuracy_sum", "best", "best_training" and "stale". A checkpoint that
  /// does not fit throws Error, and nothing is changed. All processes of a run must call both; the first one has the
  /// optimiser's state.
  Checkpoint checkpoint() const;
  void restore(const Checkpoint& checkpoint);

  /// Steps that are done.
  int64_t steps() const { return steps_; }
  int64_t steps_per_epoch() const;
  int64_t total_steps() const;
  int64_t epoch() const { return steps_ == 0 ? 0 : (steps_ - 1) / steps_per_epoch(); }  ///< of the last step, from 0
  bool finished() const { return steps_ >= total_steps() || stopped(); }
  /// The evaluation with the lowest validation loss.
  const Evaluation& best() const { return best_end_ && best_end_->validation < best_.validation ? *best_end_ : best_; }

  /// Trains to the end, from the first step or from a checkpoint, and writes checkpoint, metrics.jsonl,
  /// model.safetensors and report.html into the folder. Interrupted after Ctrl-C or SIGTERM; Error if a file cannot
  /// be written, the loss is not finite, or a parameter is not finite where a checkpoint or a model would be saved: the
  /// files that were saved before are then kept.
  void run(const RunFiles& files);
  /// The same with a folder that the caller has locked, and from a checkpoint that the caller has loaded.
  void run(const RunFiles& files, const RunFolder& folder, std::optional<Checkpoint> saved);

 private:
  struct SourceAccess {
    std::function<void()> next;             // reads the next batch
    std::function<BatchLoss()> loss = {};   // of the batch that was read last, which is given away
    std::function<BatchLoss()> again = {};  // the same, of a copy; empty if there can be none
    std::function<StepResult()> step = {};  // of a program's own, instead of `loss`
    std::function<int64_t()> size;
    std::function<void(Checkpoint&)> save;
    std::function<void(const Checkpoint&)> load;
  };
  template <class Source>
  static auto next_of(Source& batches) {
    const ProfileScope scope(ProfilePhase::data);
    return batches.next();
  }
  template <class Source, class Use>
  void connect(Source& source, Use use);
  void check_options() const;
  void check_own_step() const;
  void begin();
  bool is_first() const { return parallel_->world().rank() == 0; }
  struct Figures {  // of a batch
    double loss = 0, accuracy = 0, tokens = 0, terms = 0;
  };
  void next_batch(bool first);
  BatchLoss forward(Tape& tape, int64_t step) const;
  void own_step(StepMetrics& metrics);
  void loss_step(StepMetrics& metrics);
  static void add_up(const std::vector<Figures>& figures, StepMetrics& metrics);
  void exchange(std::vector<Figures>& figures, int64_t step);
  void require_same_start(const std::string& folder) const;
  Evaluation shared_evaluation() const;
  void evaluate_into(StepMetrics& metrics);
  bool stopped() const { return options_.patience > 0 && stale_ >= options_.patience; }
  void require_finite() const;
  void add_rest(Checkpoint& out) const;
  std::vector<distributed::DividedTensor> divided_state() const;
  void save(const RunFolder& folder, detail::ShardWriter* shards, std::function<void()> before) const;
  void train_to_end(const RunFiles& files, const RunFolder& folder);
  static void end_profile(Profiler& profiler, const RunFiles& files, const fs::path& folder, Progress& progress);
  void save_model(const RunFiles& files, const fs::path& path);
  void write_results(const RunFiles& files, const fs::path& folder, ReportText::Made made);

  nn::AnyModel model_;
  Parts* parts_ = nullptr;  // of a loop with a step of its own
  SourceAccess source_;
  std::vector<optim::Optimizer*> optimizers_;  // one, but for a step of the program's own
  LoopOptions options_;
  std::unique_ptr<distributed::DataParallel> parallel_;
  int64_t steps_ = 0;
  int64_t batch_ = 0;             // batches of the current epoch that were read
  MeanOfGroups loss_, accuracy_;  // over the steps of the current epoch
  Evaluation best_{.validation = std::numeric_limits<double>::infinity()};
  std::optional<Evaluation> best_end_;  // after the last step of a run, where none was due
  int64_t stale_ = 0;                   // evaluations since the best one
  bool is_best_ = false;                // the last evaluation
  bool failed_ = false;                 // a step has thrown
  bool interrupted_ = false;            // one of the processes, before the end of the last step
  bool trap_nan_ = false;
  bool is_writing_ = false;  // this process its shard of a checkpoint; after a step: one of the processes
};

// ---------------------------------------------------------------------------------------------------------------------

template <class Source, class Use>
void Loop::connect(Source& source, Use use) {
  const auto to = [&](auto batches) {  // a pointer of some kind
    using Batch = decltype(next_of(*batches));
    const auto batch = std::make_shared<std::optional<Batch>>();
    source_ = {.next = [batches, batch] { batch->emplace(next_of(*batches)); },
               .size = [batches] { return batches->size(); },
               .save = [batches](Checkpoint& out) { batches->save(out); },
               .load = [batches](const Checkpoint& in) { batches->load(in); }};
    const auto result = [batch, use] { return use(*std::exchange(*batch, std::nullopt)); };
    if constexpr (std::is_convertible_v<decltype(result()), StepResult>) {
      source_.step = result;
    } else {
      source_.loss = result;
      if constexpr (std::is_copy_constructible_v<Batch>) source_.again = [batch, use] { return use(Batch(**batch)); };
    }
  };
  if constexpr (requires { source.begin(); }) {
    to(std::make_shared<Epochs<Source>>(source));
  } else {
    to(&source);
  }
}

template <class Model, class Source, class LossOf>
Loop::Loop(Model& model, optim::Optimizer& optimizer, Source& source, LossOf loss_of, LoopOptions options)
    : model_(model), optimizers_{&optimizer}, options_(std::move(options)) {
  connect(source, [loss_of]<class Batch>(Batch&& batch) -> BatchLoss { return loss_of(std::forward<Batch>(batch)); });
  begin();
}

template <class Source, class Step>
Loop::Loop(Parts& parts, Source& source, Step step, LoopOptions options)
    : model_(parts), parts_(&parts), options_(std::move(options)) {
  for (const Parts::Rated& one : parts.optimizers_) optimizers_.push_back(one.optimizer);
  connect(source, [step]<class Batch>(Batch&& batch) -> StepResult { return step(std::forward<Batch>(batch)); });
  begin();
}

}  // namespace tapegrad::train
