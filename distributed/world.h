// The processes that train together, and collective functions on tensors.
#pragma once

#include <tapegrad/autograd/tensor.h>
#include <tapegrad/distributed/world_options.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::distributed {

namespace detail {
enum class Call : int32_t;
class Group;
}  // namespace detail

/// How all_reduce and reduce_scatter combine the tensors of the processes. `only`: each element is 0 on all processes
/// but one, whose element is the result. It is for work that processes have divided, such as an evaluation.
enum class Reduce { sum, max, min, only };

/// The processes that a launcher of MPI started with the same program, as `mpirun -n 4 program`; or this process alone.
/// Only processes that were started by a launcher load MPI.
///
/// Collective functions must be called by all processes in the same order, on the thread that made the World. They
/// check that first: tensors of different shapes or types, or different functions, raise the same Error on every
/// process, and so does a process whose World ends while others go on. A process that waits in vain raises an Error
/// (WorldOptions::timeout_s); then the program must end. Results are constants, not recorded on a tape, and are equal
/// on every process; sums are added in a fixed tree over the ranks.
class World : NonCopyable {
 public:
  /// Joins the others. Error if a launcher has started this process and tapegrad was built without MPI or with another
  /// MPI than the launcher's, or if an earlier World of this program has ended.
  World() : World(WorldOptions{}) {}
  /// The same with options, which count for all Worlds of the process. Every process must construct each World.
  explicit World(const WorldOptions& options);
  /// Processes that exchange messages in another way; the caller ends them.
  explicit World(detail::Group& group);
  /// Waits for the others, and ends MPI with the last World; if they do not arrive within WorldOptions::timeout_s, or
  /// do something else, prints an Error and ends all processes. After an exception it does not wait: when this process
  /// ends, the launcher ends the others.
  ~World();
  /// This process alone, even under a launcher.
  static const World& alone();

  /// The number of this process, from 0.
  int rank() const;
  /// The number of processes.
  int size() const;
  /// Whether a launcher started this process. Needs no World.
  static bool is_launched();
  /// The rank that the launcher gave this process; 0 without one. Needs no World.
  static int launched_rank();
  /// Prints a note, once, if a launcher started several processes and this program has made no World: then each process
  /// does all of the work. train::Loop calls it if it has no World.
  static void note_separate_runs();

  /// The tensor of the process `root`.
  Tensor broadcast(const Tensor& x, int root = 0) const;
  /// The sum, maximum, minimum or only value over all processes, elementwise. float32, float64 or int64. A NaN of any
  /// process makes the result NaN.
  Tensor all_reduce(const Tensor& x, Reduce how = Reduce::sum) const;
  /// x [size() n, ...] -> [n, ...]: rank r has rows r n to (r + 1) n of all_reduce(x).
  Tensor reduce_scatter(const Tensor& x, Reduce how = Reduce::sum) const;
  /// x [n, ...] -> [size() n, ...]: the tensors of all processes, joined along the first axis in the order of ranks.
  /// Scalars become a vector.
  Tensor all_gather(const Tensor& x) const;
  /// Waits until every process has called it.
  void barrier() const;

  /// Throws the same Error on every process if `error` is not empty on one of them: the text of the first of these,
  /// with its rank unless that is 0.
  void agree(std::string_view error) const;
  /// Error on every process, "[where] expected the same options on every process, got lr 0.1 on rank 0, lr 0.2 on rank
  /// 1" with the first line that differs, unless all have the same `lines`. `what`: "options".
  void require_equal(std::string_view where, std::string_view what, const std::string& lines) const;

  /// nullptr for a process alone.
  detail::Group* group() const { return group_; }

 private:
  struct Alone {};
  explicit World(Alone);
  void check(detail::Call call, const Tensor& x, int argument) const;
  detail::Group* group_;
  bool joined_;  // by a launcher's MPI
  int exceptions_;
};

}  // namespace tapegrad::distributed
