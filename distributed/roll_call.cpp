// Messages about where processes wait.
#include <fmt/format.h>
#include <tapegrad/distributed/detail/roll_call.h>

#include <algorithm>

namespace tapegrad::distributed::detail {
namespace {

constexpr int kRollCallTag = 32'010;

}  // namespace

Whereabouts::Whereabouts(std::string_view what, int64_t step) : step(step) {
  std::copy_n(what.begin(), std::min(what.size(), sizeof this->what - 1), this->what);
}

std::string Whereabouts::text() const { return step < 0 ? what : fmt::format("{} of step {}", what, step); }

void RollCall::ask(int rank) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  peer.in = transport_.exchange();
  peer.in->receive(&peer.arriving, sizeof peer.arriving, rank, kRollCallTag);
}

void RollCall::report(const Whereabouts& own) {
  std::erase_if(reports_, [](Report& one) { return one.out->done(); });
  for (int r = 0; r < transport_.size(); ++r) {
    if (r == transport_.rank()) continue;
    reports_.push_back({own, transport_.exchange()});
    reports_.back().out->send(&reports_.back().own, sizeof own, r, kRollCallTag);
  }
}

void RollCall::listen(double now) {
  if (peers_.empty()) {
    peers_.resize(static_cast<std::size_t>(transport_.size()));
    for (int r = 0; r < transport_.size(); ++r)
      if (r != transport_.rank()) ask(r);
  }
  for (std::size_t r = 0; r < peers_.size(); ++r) {
    Peer& peer = peers_[r];
    while (peer.in && peer.in->done()) {
      if (!peer.in->failure().empty()) {  // it is gone
        peer.in.reset();
        break;
      }
      peer.reported = peer.arriving;
      peer.at = now;
      peer.heard = true;
      ask(static_cast<int>(r));
    }
  }
}

std::vector<int> RollCall::missing(double since) const {
  std::vector<int> ranks;
  for (std::size_t r = 0; r < peers_.size(); ++r) {
    if (static_cast<int>(r) == transport_.rank()) continue;
    const Peer& peer = peers_[r];
    if (!peer.heard || peer.at < since) ranks.push_back(static_cast<int>(r));
  }
  return ranks;
}

std::string text_of_ranks(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += fmt::format("{}", ranks[i]);
  }
  return text;
}

}  // namespace tapegrad::distributed::detail
