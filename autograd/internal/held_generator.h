// A generator from which many single numbers are drawn: it is taken once, not once per number.
#pragma once

#include <tapegrad/autograd/random.h>

#include <atomic>
#include <cstdint>

namespace tapegrad {

/// One thread at a time in a generator, or in what takes its place while a DrawLog is replayed.
class Generator::Hold {
 public:
  static constexpr uint64_t kLow53 = (uint64_t{1} << 53) - 1;

  explicit Hold(const Generator& g) : flag_(g.held_), state_(&g.state_) {
    while (flag_.test_and_set(std::memory_order_acquire)) flag_.wait(true, std::memory_order_relaxed);
    if (!redirect_) {
      state_->version = 0;
      return;
    }
    try {
      state_ = &redirect_(g.state_);
    } catch (...) {
      release();
      throw;
    }
  }
  ~Hold() { release(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  State* operator->() const { return state_; }
  State& operator*() const { return *state_; }

 private:
  void release() {
    flag_.clear(std::memory_order_release);
    flag_.notify_one();
  }
  std::atomic_flag& flag_;
  State* state_;
};

inline uint64_t Generator::State::next64() {
  const uint64_t first = words();
  return first << 32 | words();
}

inline double Generator::State::next_double() { return static_cast<double>(next64() & Hold::kLow53) * 0x1p-53; }

/// As long as it lives, other threads wait for the generator; its thread must not use the generator in another way. All
/// numbers are one draw of a DrawLog.
class HeldGenerator {
 public:
  explicit HeldGenerator(const Generator& generator) : hold_(generator) {}
  double uniform() { return hold_->next_double(); }  ///< in [0, 1), as Generator::uniform of one double
  double normal() { return hold_->next_normal(); }   ///< as Generator::normal of one double

 private:
  Generator::Hold hold_;
};

}  // namespace tapegrad
