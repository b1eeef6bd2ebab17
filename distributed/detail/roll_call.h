// Which processes wait, and for what: those that have waited for long tell all others.
#pragma once

#include <tapegrad/distributed/detail/transport.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::distributed::detail {

/// Where a process waits.
struct Whereabouts {
  int64_t meetings = 0;  ///< that it has completed (group.h)
  int64_t step = -1;     ///< of DataParallel; -1: none
  char what[48] = {};    ///< "the gradients"

  Whereabouts() = default;
  Whereabouts(std::string_view what, int64_t step, int64_t meetings);
  /// "the gradients of step 17".
  std::string text() const;
};

/// Costs nothing until the first call.
class RollCall {
 public:
  using Clock = std::chrono::steady_clock;
  explicit RollCall(Transport& transport) : transport_(transport) {}
  /// Tells all others where this process waits.
  void tell(const Whereabouts& own);
  /// Takes in what others have told, from the first call on.
  void listen();
  /// The processes that have told nothing for `seconds`, or only what was before meeting `meetings`; without this one.
  std::vector<int> missing(int64_t meetings, double seconds) const;
  /// What a process told last.
  const Whereabouts& told_by(int rank) const { return peers_[static_cast<std::size_t>(rank)].told; }

 private:
  struct Peer {
    Whereabouts told, arriving;
    Clock::time_point at = {};  // when
    bool heard = false;
    std::unique_ptr<Exchange> in;
  };
  struct Letter {
    Whereabouts own;
    std::unique_ptr<Exchange> out;
  };
  void ask(int rank);
  Transport& transport_;
  std::vector<Peer> peers_;    // by rank; empty until the first call
  std::list<Letter> letters_;  // on their way
};

/// "rank 2", "ranks 1 and 3", "ranks 1, 2 and 5".
std::string text_of_ranks(const std::vector<int>& ranks);

}  // namespace tapegrad::distributed::detail
