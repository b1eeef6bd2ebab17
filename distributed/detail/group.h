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

/// What all processes do together next.
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

/// How a process describes its call to the others before data is sent.
struct Meeting {
  Call call;
  int32_t argument = 0, dtype = 0, axes = 0;  ///< the reduction or the root; the tensor's type and number of axes
  int64_t sizes[kMaxRank] = {};               ///< the tensor's shape, or numbers of a step
  friend bool operator==(const Meeting&, const Meeting&) = default;
};

/// The smallest and the largest number: of one process, and after meet() of all.
struct Range {
  int64_t least = 0, most = 0;
};

/// The calls of all processes.
struct Met {
  Meeting first, other;  ///< of rank 0, and of the first rank whose Meeting differs
  int rank = 0;          ///< of `other`; 0: all are equal
  Range range;
};

/// Every process calls the collective functions in the same order, on one thread.
class Group {
 public:
  explicit Group(Transport& transport);
  int rank() const { return transport_.rank(); }
  int size() const { return transport_.size(); }

  void set_patience(const WorldOptions& patience) { patience_ = patience; }
  /// The step that waits belong to in messages, counted from 1; -1: none.
  void set_step(int64_t step) { step_ = step; }

  std::unique_ptr<Exchange> exchange() { return transport_.exchange(); }
  /// Waits until all messages have arrived. Error if one fails, or if none arrives for WorldOptions::timeout_s: then
  /// this group can do nothing more, and the program must end. `what` is for texts: "the gradients".
  void wait(Exchange& messages, std::string_view what);

  void broadcast(void* data, int64_t bytes, int root);
  /// `all` receives `bytes` bytes from each process, in the order of ranks.
  void all_gather(const void* own, int64_t bytes, void* all, std::string_view what);

  /// combine(theirs) must merge another process's bytes into `own`: in any order, and some of them more than once.
  void all_combine(void* own, int64_t bytes, std::string_view what, const std::function<void(const char*)>& combine);

  /// Error on every process, "[where] ...", if the processes make different calls.
  Met meet(std::string_view where, const Meeting& own, const Range& range = {});
  /// Unless `lines` are equal on all processes: Error on every process, "[where] expected the same `what` on every
  /// process, got ...", with the first line that differs between rank 0 and another rank.
  void require_equal(std::string_view where, std::string_view what, const std::string& lines);

  /// Keeps memory that messages under way may still write to, for the rest of the program.
  void keep(std::shared_ptr<void> memory);
  /// Waits for all processes, and ends MPI. If that fails, prints the Error, and ends all processes. Does nothing in a
  /// process that was forked.
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
  double attended_ = 0;  // total seconds of all waits: the clock of roll_
  std::string broken_;   // the Error after which nothing can be exchanged
};

}  // namespace tapegrad::distributed::detail
