// Changes of buffers in forward.
#include <tapegrad/autograd/internal/draw_log.h>
#include <tapegrad/autograd/internal/forward_updates.h>

#include <utility>

namespace tapegrad::detail {
namespace {

constinit thread_local ForwardUpdates* innermost_updates = nullptr;

}  // namespace

ForwardUpdates::ForwardUpdates() : outer_(std::exchange(innermost_updates, this)) {}
ForwardUpdates::~ForwardUpdates() {
  ForwardUpdates** at = &innermost_updates;  // one that is not the innermost may end first
  while (*at != this) at = &(*at)->outer_;
  *at = outer_;
}

void ForwardUpdates::make(ForwardUpdate update) {
  if (DrawLog::replaying()) return;
  if (!innermost_updates) return update.apply(update.news);
  update.news = update.news.detach();
  innermost_updates->waiting_.push_back(std::move(update));
}

}  // namespace tapegrad::detail
