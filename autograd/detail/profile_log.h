// What a profiler has measured: sums and events of each thread, and the names that they refer to.
#pragma once

#include <tapegrad/autograd/kernels/product/engines.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tapegrad {

enum class ProfilePhase;  // forward, ...: profiler.h

namespace detail {

/// Texts by number: names of operations, paths of modules, shapes. Number 0 is the empty text.
class Texts {
 public:
  Texts() { number(""); }
  uint32_t number(std::string_view text);
  const std::string& operator[](uint32_t number) const;

 private:
  mutable std::mutex mutex_;
  std::deque<std::string> texts_;  // never move
  std::unordered_map<std::string_view, uint32_t> numbers_;
};

/// Calls with equal keys are added up; `within` calls `name`. Only operations that no other one calls have a module.
struct SumKey {
  uint32_t name = 0, within = 0, module = 0;  // numbers of Texts
  ProfilePhase phase{};                       // forward
  bool scope = false;                         // the operations in it have rows of their own
  friend bool operator==(const SumKey&, const SumKey&) = default;
};
struct SumKeyHash {
  std::size_t operator()(const SumKey& key) const {
    uint64_t mixed = key.name;
    for (const uint64_t part :
         {uint64_t{key.within}, uint64_t{key.module}, 2 * static_cast<uint64_t>(key.phase) + key.scope}) {
      mixed = (mixed ^ part) * 0x9E3779B97F4A7C15u;
      mixed ^= mixed >> 29;
    }
    return mixed;
  }
};
struct Sum {
  int64_t calls = 0, total = 0, self = 0, workers = 0;  // all but calls: nanoseconds
  int64_t flops = 0, bytes = 0;
  void add(const Sum& other);
};
using Sums = std::unordered_map<SumKey, Sum, SumKeyHash>;

/// One span of the trace.
struct Event {
  uint32_t name, module, shapes;
  ProfilePhase phase;
  bool worker;  // a worker's part of an operation's loop
  int64_t begin, duration, flops, bytes;
};

/// An operation whose module depends on the next parameter that is used.
struct PendingSum {
  SumKey key;
  Sum sum;
  int64_t event;  // its place among the events, or -1
};

/// What one thread has measured.
struct ThreadLog {
  std::mutex mutex;  // protects what follows: the thread writes it, a report reads it
  Sums sums;
  std::vector<PendingSum> pending;
  std::vector<Event> events;
  std::array<int64_t, 6> phases{};  // nanoseconds by ProfilePhase
  int number = 0;                   // in the order of the threads' first events
  uint64_t session = 0;
};

/// Everything since a profiler was constructed.
struct ProfileSession {
  std::mutex mutex;
  std::atomic<uint64_t> number{0};  // of the session: threads whose logs are of an earlier one begin new ones
  std::vector<std::shared_ptr<ThreadLog>> logs;  // the first one belongs to the thread that constructed the profiler
  std::vector<int64_t> step_ends;                // of the first steps, by profile_clock()
  int64_t steps = 0;
  int64_t begin = 0, end = 0;  // end: 0 while it goes on
  int64_t interruptions = 0;   // nanoseconds spent on measuring the machine's speed
  std::atomic<int64_t> event_room{0}, events_left_out{0};
  std::shared_ptr<Texts> texts;
  int64_t peak_bytes = 0;                           // set at the end of the session
  std::array<int64_t, kEngines> products_before{};  // multiplications before the session, by Engine
  bool alive = false;                               // the profiler exists

  /// Never destroyed: threads may end later.
  static ProfileSession& get();
};

/// Makes the log of this thread, if it has none in this session.
void join_session();

int64_t profile_clock();  // nanoseconds
/// The path of the innermost module that contains both: "a.b" for "a.b.c" and "a.b.d".
std::string_view common_module(std::string_view a, std::string_view b);

}  // namespace detail
}  // namespace tapegrad
