// Texts by number, sums, and the session that they belong to.
// build: -Os
#include <tapegrad/autograd/detail/profile_log.h>

#include <chrono>

namespace tapegrad::detail {

uint32_t Texts::number(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (const auto at = numbers_.find(text); at != numbers_.end()) return at->second;
  const std::string& kept = texts_.emplace_back(text);
  const auto number = static_cast<uint32_t>(texts_.size() - 1);
  numbers_.emplace(kept, number);
  return number;
}

const std::string& Texts::operator[](uint32_t number) const {
  const std::lock_guard lock(mutex_);
  return texts_[number];
}

void Sum::add(const Sum& other) {
  calls += other.calls;
  total += other.total;
  self += other.self;
  workers += other.workers;
  flops += other.flops;
  bytes += other.bytes;
}

ProfileSession& ProfileSession::get() {
  static ProfileSession& session = *new ProfileSession;
  return session;
}

int64_t profile_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string_view common_module(std::string_view a, std::string_view b) {
  std::size_t same = 0;  // characters of whole names
  for (std::size_t i = 0;; ++i) {
    const bool a_ends = i >= a.size() || a[i] == '.', b_ends = i >= b.size() || b[i] == '.';
    if (a_ends && b_ends) same = i;
    if (i >= a.size() || i >= b.size() || a[i] != b[i]) break;
  }
  return a.substr(0, same);
}

}  // namespace tapegrad::detail
