// Changes of buffers in forward.
#include <tapegrad/autograd/internal/forward_updates.h>

namespace tapegrad::detail {
namespace {

constinit thread_local ForwardUpdates* innermost_updates = nullptr;

}  // namespace

ForwardUpdates::ForwardUpdates() : outer_(std::exchange(innermost_updates, this)) {}

ForwardUpdates::~ForwardUpdates() {
  ForwardUpdates** at = &innermost_updates;  // one that is not the innermost may end first
  while (*at && *at != this) at = &(*at)->outer_;
  if (*at) *at = outer_;
}

ForwardUpdates* ForwardUpdates::current() { return innermost_updates; }

void ForwardUpdates::add(ForwardUpdate update) {
  update.statistics = update.statistics.detach().contiguous();
  waiting_.push_back(std::move(update));
}

}  // namespace tapegrad::detail
