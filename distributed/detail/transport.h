// How the processes of a run exchange bytes; libtapegrad_mpi implements these classes with MPI.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tapegrad::distributed::detail {

/// Messages that are under way together. A message arrives at the receive with its tag; messages between two processes
/// with the same tag arrive in order. Memory must stay as it is until done() is true. An exchange that is destroyed
/// earlier cancels receives that have not begun; other messages go on while messages of other exchanges move.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void send(const void* data, int64_t bytes, int to, int tag) = 0;
  virtual void receive(void* data, int64_t bytes, int from, int tag) = 0;
  /// Whether no message is under way any more: all have arrived, or one has failed. Messages move only inside calls of
  /// done(), of any exchange.
  virtual bool done() = 0;
  /// How many messages have arrived or left so far.
  virtual int64_t moved() const = 0;
  /// Why a message failed: "12 bytes arrived from rank 1 where 16 were expected". Empty: none did.
  virtual const std::string& failure() const = 0;
};

/// The connection of this process to the others; all calls on one thread.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::unique_ptr<Exchange> exchange() = 0;
  /// No message moves any more, and exchanges may end in any state; only abort() may follow.
  virtual void stop() = 0;
  /// After the last message of every process; no other function may follow.
  virtual void finish() = 0;
  /// Ends all processes with exit status 1.
  [[noreturn]] virtual void abort() = 0;
};

/// The function of libtapegrad_mpi that starts MPI. It returns nullptr if it was built for another version of tapegrad.
inline constexpr char kJoinName[] = "tapegrad_join_mpi";
using Join = Transport* (*)(const char* version);

}  // namespace tapegrad::distributed::detail
