// The list of all members that live.
#include <pthread.h>
#include <tapegrad/nn/member.h>

#include <mutex>

namespace tapegrad::nn::detail {

namespace {

constinit std::mutex list_mutex;
constinit Member* first = nullptr;

// Locked during a fork, so that the child finds the mutex unlocked.
[[maybe_unused]] const int kRegisteredAtLoad =
    pthread_atfork([] { list_mutex.lock(); }, [] { list_mutex.unlock(); }, [] { list_mutex.unlock(); });

}  // namespace

void Member::enter() noexcept {
  const std::lock_guard lock(list_mutex);
  next_ = first;
  if (first) first->previous_ = this;
  first = this;
}

void Member::leave() noexcept {
  const std::lock_guard lock(list_mutex);
  (previous_ ? previous_->next_ : first) = next_;
  if (next_) next_->previous_ = previous_;
}

void Member::visit_all(void (*f)(void* context, const Member& member), void* context) {
  const std::lock_guard lock(list_mutex);
  for (const Member* member = first; member; member = member->next_) f(context, *member);
}

}  // namespace tapegrad::nn::detail
