// Data parallel training: the processes of a World share the batches of each step, and the state of the optimiser.
#pragma once

#include <tapegrad/autograd/named_tensor.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/distributed/data_parallel_options.h>
#include <tapegrad/distributed/divided_tensor.h>
#include <tapegrad/distributed/world.h>
#include <tapegrad/optim/optimizer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tapegrad::distributed {
namespace detail {
struct Accumulated;
struct Share;
}  // namespace detail

/// For an estimate of memory: the most gradients of one parameter that one of `processes` processes holds at the same
/// time in a step, which are sums of batches that wait for others, and gradients of the current batch. 0 if
/// update_in_backward frees each gradient at once.
int64_t gradients_at_once(const DataParallelOptions& options, int64_t processes);

/// While one is in scope, the default generator gives the numbers of one batch of one step. They depend on the
/// generator's seed, the step and the batch alone, not on which process computes the batch. Afterwards the generator
/// continues as if nothing had been sampled.
class BatchDraws : NonCopyable {
 public:
  BatchDraws(int64_t step, int64_t batch);
  ~BatchDraws();

 private:
  Generator before_;
};

/// The loss of a batch, and the number of terms that it is the mean of: examples, or targets that are not padding, or
/// the sum of their weights. With the default, all batches count alike, however large they are.
struct MeanLoss {
  MeanLoss(Tensor mean, double count = 1) : loss(std::move(mean)), terms(count) {}  // NOLINT: a Tensor is one, too
  Tensor loss;                                                                      ///< one element
  double terms;  ///< 0: nothing of the batch counts, and its loss may be NaN
};

/// Steps of an optimiser that all processes make together:
///
///     tg::distributed::World world;
///     tg::distributed::DataParallel parallel(world, adam, {.accumulate = 8, .clip_grad_norm = 1});
///     for (int step = 0; step < 1000; ++step) {
///       const double loss = parallel.step([&](int64_t i) { return cross_entropy(model(x(i)), y(i)); });
///       if (world.rank() == 0) std::cout << loss << "\n";
///     }
///
/// A step has `accumulate` batches, of which each process computes an equal share. Their gradients are averaged with
/// weights that are proportional to MeanLoss::terms, so the step equals a step of one batch with all terms. Gradients
/// are summed in one fixed tree, so a run is bit-identical for any number of processes and threads, also for a single
/// process. A process updates a share of the parameters, holds the optimiser's state of this share only (ZeRO stage 1),
/// and then receives the other parameters.
///
/// The constructor copies the optimiser's parameters and the default generator of rank 0 to all processes. Afterwards
/// each process must do the same, except for the batches: sample the same numbers, set the same rates, freeze the same
/// parameters. A step compares rates, decays, frozen parameters and the number of batches, and throws on every process
/// if they differ. If only one process fails in a step, it must end: the others wait for it until the launcher ends
/// them, or for WorldOptions::timeout_s.
class DataParallel : NonCopyable {
 public:
  /// The mean loss of batch i, counted from the first step; recorded on the tape in scope.
  using LossOf = std::function<MeanLoss(int64_t batch)>;

  /// Error if `accumulate` is not a multiple of the number of processes, if parameters differ between them in number,
  /// name, shape or type, or if options or the optimiser's settings do. With several processes, the optimiser then
  /// updates through this object only, which must outlive its use.
  DataParallel(const World& world, optim::Optimizer& optimizer, DataParallelOptions options = {});
  ~DataParallel();

  /// One step over all its batches. Returns the mean loss over their terms, the same on every process. `loss_of` is
  /// called for the batches of this process, in order, each with BatchDraws if there is more than one batch per step.
  double step(const LossOf& loss_of);

  // --- the parts of a step, for loops of another form ---

  /// Begins a step of `batches` batches, at most `accumulate` (fewer at the end of an epoch). With several processes,
  /// Error after a step that failed while its gradients were being sent.
  void begin_step(int64_t batches);
  /// Whether this process computes batch i of the step.
  bool is_mine(int64_t i) const;
  /// Runs backward for the next batch of this process, unless it has no terms. With the last one, the first gradients
  /// are sent. Error if `terms` (MeanLoss::terms) is negative or not finite.
  void backward(Tape& tape, const Tensor& loss, double terms = 1);
  /// Completes the gradients, applies clipping and transforms, and updates the parameters. Returns the norm before
  /// clipping; 0 without. The Errors of Optimizer::step and of the transforms, on every process, and an Error if no
  /// batch has terms.
  double update();
  /// Collects numbers of all batches of the step, in order. `own` contains `each` numbers for each batch of this
  /// process.
  std::vector<double> gather(const std::vector<double>& own, int64_t each) const;

  /// The optimiser's state of whole parameters, on rank 0; empty on the other ranks. All processes must call it.
  NamedTensors state() const;
  /// The state as it is divided between processes, for a checkpoint that they write together. The first two tensors
  /// ("steps" and "lr"), which every process has, are left out. A snapshot: later steps do not change it. No process
  /// waits for others.
  std::vector<DividedTensor> divided_state() const;
  /// All processes must call it with the whole state, however many processes it was saved by.
  void load_state(const NamedTensors& state);
  /// Elements [begin, end) of a tensor of the state, flat.
  using ReadElements = std::function<Tensor(const std::string& name, int64_t begin, int64_t end)>;
  /// The same, but each process reads the elements that it updates: of the tensors in `shapes`, except "steps" and
  /// "lr", only name, shape and type count.
  void load_state(const NamedTensors& shapes, const ReadElements& read);

  /// Sets the default generator of every process to rank 0's generator, after something that only rank 0 did.
  void share_draws() const;

  /// the processes that take part
  const World& world() const { return world_; }
  CommunicationTimes times() const;  ///< since the construction

 private:
  const World& world_;
  optim::Optimizer& optimizer_;
  DataParallelOptions options_;
  std::unique_ptr<detail::Accumulated> sums_;
  std::unique_ptr<detail::Share> share_;  // nullptr for a process alone
};

}  // namespace tapegrad::distributed
