// The random numbers that a thread sampled, so that backward can sample them again: for gradient checkpointing.
#pragma once

#include <tapegrad/autograd/pool.h>
#include <tapegrad/autograd/random.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tapegrad::detail {

/// The sampling calls of one thread, from any generators, in order. It stores one generator state per uninterrupted run
/// of calls: a call of another thread from the same generator begins a new run.
class DrawLog {
 public:
  /// While one is in scope on this thread, the thread's sampling calls are entered in the log. Recordings nest.
  class Recording : NonCopyable {
   public:
    explicit Recording(DrawLog& log);
    ~Recording();

   private:
    friend class DrawLog;
    DrawLog& log_;
    Recording* const outer_;
  };
  /// While one is in scope on this thread, sampling returns the numbers of the log and does not advance the generators.
  /// A log can be replayed once. Error "[where] ..." for more calls than the log contains.
  class Replay : NonCopyable {
   public:
    Replay(std::string_view where, DrawLog& log);
    ~Replay();
    /// Error if the log contains calls that were not repeated.
    void require_end() const;

   private:
    friend class DrawLog;
    const std::string_view where_;
    DrawLog& log_;
    Replay* const outer_;
    std::size_t next_ = 0;
  };

  /// Whether this thread replays a log: then it repeats a computation, whose other effects must not happen twice.
  static bool replaying();

 private:
  // Called by a generator before it samples, while this thread records or replays: the state to sample from.
  static Generator::State& draw(Generator::State& state);
  static void update_redirection();
  struct Run {
    Generator::State state;  // before its first call
    uint64_t version;        // of the generator's state after its last call
  };
  void enter(const Generator::State& state, uint64_t version_after);
  std::vector<Run, pool::Allocator<Run>> runs_;
  std::vector<uint32_t, pool::Allocator<uint32_t>> draws_;  // the run of each call
};

}  // namespace tapegrad::detail
