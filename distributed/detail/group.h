// What the processes of a run do together on top of messages: waits with a deadline, and collective functions.
#pragma once

#include <tapegrad/autograd/shape.h>
#include <tapegrad/distributed/detail/roll_call.h>
#include <tapegrad/distributed/detail/transport.h>
#include <tapegrad/distributed/world_options.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::distributed::detail {

/// What all processes do next.
enum class Call : int32_t {
  broadcast,
  all_reduce,
  reduce_scatter,
  all_gather,
  barrier,
  agree,
  require_equal,
  step,
  state,
  end,
};
/// "all_reduce", "a step of DataParallel", "the end of the World".
std::string_view name(Call call);

/// What a process says of its call before data moves.
struct Meeting {
  Call call;
  int32_t argument = 0, dtype = 0, axes = 0;  ///< of a tensor, and how it is reduced or where it is
  int64_t sizes[kMaxRank] = {};               ///< its shape, or numbers of a step
  friend bool operator==(const Meeting&, const Meeting&) = default;
};

/// A range of numbers: one of a process, and then of all.
struct Range {
  int64_t least = 0, most = 0;
};

/// What all processes say.
struct Met {
  Meeting first, other;  ///< of rank 0, and of the first rank that says something else
  int rank = 0;          ///< of the other one; 0: all say the same
  Range range;
};

/// Every process calls the collective functions in the same order, on one thread.
class Group {
 public:
  explicit Group(Transport& transport);
  int rank() const { return transport_.rank(); }
  int size() const { return transport_.size(); }

  void set_patience(const WorldOptions& patience) { patience_ = patience; }
  /// What waits are part of, for texts, from 1; -1: no step.
  void set_step(int64_t step) { step_ = step; }

  std::unique_ptr<Exchange> exchange() { return transport_.exchange(); }
  /// Until all messages have arrived. Error if one fails, and if none arrives for WorldOptions::timeout_s: then this
  /// group can do nothing more, and the program must end. `what`: "the gradients".
  void wait(Exchange& messages, std::string_view what);

  void broadcast(void* data, int64_t bytes, int root);
  /// `all` receives `bytes` of each process, in the order of ranks.
  void all_gather(const void* own, int64_t bytes, void* all, std::string_view what);

  /// `own` becomes what `combine(own, theirs)` makes of that of all processes, in any order and more than once each.
  void all_combine(void* own, int64_t bytes, std::string_view what, const std::function<void(const char*)>& combine);

  /// Error on every process, "[where] ...", if they make different calls.
  Met meet(std::string_view where, const Meeting& own, const Range& range = {});
  /// Error on every process, "[where] expected the same `what` on every process, got ...", with the first line that
  /// differs and two ranks that have it so, unless all have the same lines.
  void require_equal(std::string_view where, std::string_view what, const std::string& lines);

  /// Keeps what messages that are still under way may write to, for the rest of the program.
  void keep(std::shared_ptr<void> memory);
  /// Waits for all, and ends MPI. If that is an Error, prints it, and ends all processes. In a process that was forked,
  /// nothing.
  void finish();

 private:
  double first_limit() const;
  void require_whole() const;
  [[noreturn]] void break_with(std::string_view message);
  void look_after(double waited, const Whereabouts& own);
  std::vector<int> missing() const;
  void warn(double waited, const Whereabouts& own) const;
  [[noreturn]] void give_up(const Whereabouts& own);
  Transport& transport_;
  const int process_;
  std::unique_ptr<RollCall> roll_;
  WorldOptions patience_;
  int64_t step_ = -1;
  double attended_ = 0;  // seconds of all waits
  std::string broken_;   // the Error after which nothing can be exchanged
};

}  // namespace tapegrad::distributed::detail
