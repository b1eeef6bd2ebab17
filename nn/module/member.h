// Members of modules that are recognised in the memory of a module, so that one that a visit forgets is found.
#pragma once

#include <tapegrad/autograd/compiler.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tapegrad::nn {
class Visitor;
}

namespace tapegrad::nn::detail {

enum class MemberKind : uint8_t { parameter, buffer, mode, holder };

// The base of a Parameter, a Buffer, a Mode and a Holder. While one lives, it begins with a mark of its own address,
// which no other memory has: copied bytes are elsewhere, and the destructor removes the mark.
class Member {
 public:
  MemberKind kind() const { return static_cast<MemberKind>(mark_ & kKinds); }

  // Calls f(member) for every one that lives in this memory.
  static void for_each_in(std::span<const std::byte> memory, auto f) {
    const std::size_t skipped =
        (alignof(Member) - reinterpret_cast<uintptr_t>(memory.data()) % alignof(Member)) % alignof(Member);
    for (std::size_t at = skipped; at + sizeof(Member) <= memory.size(); at += alignof(Member)) {
      const std::byte* const place = memory.data() + at;
      uintptr_t mark = 0;
      std::memcpy(&mark, place, sizeof mark);
      if ((mark & ~kKinds) == mark_of(place)) f(*reinterpret_cast<const Member*>(place));
    }
  }

 protected:
  explicit Member(MemberKind kind) noexcept : mark_(mark_of(this) | static_cast<uintptr_t>(kind)) {}
  Member(const Member& other) noexcept : Member(other.kind()) {}
  Member& operator=(const Member&) noexcept { return *this; }
  ~Member() { *static_cast<volatile uintptr_t*>(&mark_) = 0; }  // a plain write to what ends would be optimised away

 private:
  static constexpr uintptr_t kKinds = 3;
  static uintptr_t mark_of(const void* place) { return reinterpret_cast<uintptr_t>(place) ^ 0x7f4a7c159e3779b8; }

  uintptr_t mark_;
};

// The base of a container whose modules are elsewhere in memory, as those of a List are: an address shows that they are
// a part of a model only by the container.
class Holder : public Member {
 public:
  void walk_held(Visitor& visitor) const { walk_(const_cast<Holder&>(*this), visitor); }

 protected:
  using Walk = void (*)(Holder& holder, Visitor& visitor);
  explicit Holder(Walk walk) noexcept : Member(MemberKind::holder), walk_(walk) {}

 private:
  Walk walk_;  // the same for all holders of a type
};

}  // namespace tapegrad::nn::detail

namespace tapegrad::nn {

/// Whether a module is in training: a bool, set by train() and eval(). A module with a member `Mode training = true;`
/// that a visit forgets is found; a plain `bool training` works, too, but is not.
class Mode : public detail::Member {
 public:
  Mode(bool training) noexcept : Member(detail::MemberKind::mode), training_(training) {}  // NOLINT: = true
  Mode& operator=(bool training) noexcept {
    training_ = training;
    return *this;
  }
  operator bool() const { return training_; }  // NOLINT: it is a bool, for a visitor a bool&
  operator bool&() { return training_; }
  /// Whether the module is training.
  const bool& value() const { return training_; }

 private:
  bool training_;
};

}  // namespace tapegrad::nn
