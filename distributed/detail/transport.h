// What the processes of a run exchange bytes with. libtapegrad_mpi implements it with MPI.
#pragma once

#include <cstdint>
#include <memory>

namespace tapegrad::distributed::detail {

/// Messages that are under way together. A message arrives at the receive with its tag; messages of one pair of
/// processes with the same tag arrive in order. Memory must stay as it is until wait() returns or done() is true.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void send(const void* data, int64_t bytes, int to, int tag) = 0;
  virtual void receive(void* data, int64_t bytes, int from, int tag) = 0;
  /// Whether all messages have arrived. Messages move only inside calls of done() and wait(), of any exchange.
  virtual bool done() = 0;
  virtual void wait() = 0;
};

/// Every process calls the collective functions in the same order, on one thread. A failure of the network ends the
/// program, with a message of MPI.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual void barrier() = 0;
  virtual void broadcast(void* data, int64_t bytes, int root) = 0;
  /// `all` receives `bytes` of each process, in the order of ranks.
  virtual void all_gather(const void* own, int64_t bytes, void* all) = 0;
  virtual std::unique_ptr<Exchange> exchange() = 0;
  /// Waits for all processes; no other function may follow.
  virtual void finish() = 0;
};

/// The function of libtapegrad_mpi: begins MPI. nullptr if it was built for another version of the library.
inline constexpr char kJoinName[] = "tapegrad_join_mpi";
using Join = Transport* (*)(const char* version);

}  // namespace tapegrad::distributed::detail
