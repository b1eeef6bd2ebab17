// Which processes wait, and for what: processes that have waited for long report it to all others.
#pragma once

#include <tapegrad/distributed/detail/transport.h>

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::distributed::detail {

/// Where a process waits.
struct Whereabouts {
  int64_t step = -1;   ///< of DataParallel; -1: none
  char what[48] = {};  ///< "the gradients"

  Whereabouts() = default;
  Whereabouts(std::string_view what, int64_t step);
  /// "the gradients of step 17".
  std::string text() const;
};

/// Sends and receives nothing until the first call. Times are seconds on the caller's clock.
class RollCall {
 public:
  explicit RollCall(Transport& transport) : transport_(transport) {}
  /// Reports to all other processes where this one waits.
  void report(const Whereabouts& own);
  /// Receives the others' reports, from the first call on.
  void listen(double now);
  /// The other processes that have reported nothing since the time `since`.
  std::vector<int> missing(double since) const;
  /// What a process reported last.
  const Whereabouts& reported_by(int rank) const { return peers_[static_cast<std::size_t>(rank)].reported; }

 private:
  struct Peer {
    Whereabouts reported, arriving;
    double at = 0;       // when `reported` arrived
    bool heard = false;  // something has arrived
    std::unique_ptr<Exchange> in;
  };
  struct Report {
    Whereabouts own;
    std::unique_ptr<Exchange> out;
  };
  void ask(int rank);
  Transport& transport_;
  std::vector<Peer> peers_;    // by rank; empty until the first call
  std::list<Report> reports_;  // on their way
};

/// "rank 2", "ranks 1 and 3", "ranks 1, 2 and 5".
std::string text_of_ranks(const std::vector<int>& ranks);

}  // namespace tapegrad::distributed::detail
