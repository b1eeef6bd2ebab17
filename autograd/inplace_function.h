// A move-only function object that never uses the heap.
#pragma once

#include <tapegrad/autograd/pool.h>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace tapegrad {

/// As std::function, but move-only. Captures of up to kBytes are stored in place, larger ones in a block of the pool;
/// they must move without throwing. A function may leave out all parameters but the first.
template <class Signature, std::size_t kBytes = 96>
class InplaceFunction;

/// A function with this signature, or an empty one, which must not be called.
template <class Result, class... Args, std::size_t kBytes>
class InplaceFunction<Result(Args...), kBytes> {
 public:
  InplaceFunction() = default;
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, InplaceFunction>>>
  InplaceFunction(F&& f) {  // NOLINT: lambdas convert, as with std::function
    using Stored = std::decay_t<F>;
    static_assert(std::is_nothrow_move_constructible_v<Stored>, "captures must move without throwing");
    static_assert(alignof(Stored) <= 64);
    if constexpr (kFits<Stored>) {
      new (buffer_) Stored(std::forward<F>(f));
    } else {
      void* block = pool::acquire(sizeof(Stored));
      new (buffer_) Stored*(new (block) Stored(std::forward<F>(f)));
    }
    actions_ = &kActions<Stored>;
  }
  InplaceFunction(InplaceFunction&& other) noexcept { take(other); }
  InplaceFunction& operator=(InplaceFunction&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~InplaceFunction() { reset(); }

  explicit operator bool() const { return actions_ != nullptr; }
  Result operator()(Args... args) { return actions_->call(buffer_, std::forward<Args>(args)...); }
  /// Destroys the callable and what it captured; the function is then empty.
  void reset() noexcept {
    if (actions_) std::exchange(actions_, nullptr)->destroy(buffer_);
  }

 private:
  struct Actions {
    Result (*call)(void*, Args...);
    void (*move)(void* from, void* to) noexcept;  // leaves `from` empty
    void (*destroy)(void*) noexcept;
  };
  template <class Stored>
  static constexpr bool kFits = sizeof(Stored) <= kBytes && alignof(Stored) <= alignof(std::max_align_t);
  template <class Stored>
  static Stored& stored(void* buffer) {
    if constexpr (kFits<Stored>) {
      return *std::launder(static_cast<Stored*>(buffer));
    } else {
      return **std::launder(static_cast<Stored**>(buffer));
    }
  }
  template <class Stored, class First, class... Rest>
  static Result call(Stored& f, First&& first, Rest&&... rest) {
    if constexpr (std::is_invocable_v<Stored&, First, Rest...>) {
      return f(std::forward<First>(first), std::forward<Rest>(rest)...);
    } else {
      return f(std::forward<First>(first));
    }
  }
  template <class Stored>
  static constexpr Actions kActions = {
      [](void* buffer, Args... args) -> Result { return call(stored<Stored>(buffer), std::forward<Args>(args)...); },
      [](void* from, void* to) noexcept {
        if constexpr (kFits<Stored>) {
          new (to) Stored(std::move(stored<Stored>(from)));
          stored<Stored>(from).~Stored();
        } else {
          new (to) Stored*(&stored<Stored>(from));
        }
      },
      [](void* buffer) noexcept {
        Stored& f = stored<Stored>(buffer);
        f.~Stored();
        if constexpr (!kFits<Stored>) pool::release(&f, sizeof(Stored));
      }};
  void take(InplaceFunction& other) noexcept {
    actions_ = std::exchange(other.actions_, nullptr);
    if (actions_) actions_->move(other.buffer_, buffer_);
  }

  const Actions* actions_ = nullptr;
  alignas(std::max_align_t) std::byte buffer_[kBytes];
};

}  // namespace tapegrad
