// Members of modules that are known by their address while they live, so that one that a visit forgets is found.
#pragma once

#include <tapegrad/autograd/compiler.h>

namespace tapegrad::nn {
class Visitor;
}

namespace tapegrad::nn::detail {

enum class MemberKind { parameter, buffer, mode, holder };

// The base of a Parameter, a Buffer, a Mode and a Holder: entered into a list of the process from construction to
// destruction.
class Member {
 public:
  MemberKind kind() const { return kind_; }

  // Calls f(member) for every one that lives, while none can begin or end.
  template <class F>
  static void for_each(F f) {
    visit_all([](void* context, const Member& member) { (*static_cast<F*>(context))(member); }, &f);
  }

 protected:
  explicit Member(MemberKind kind) noexcept : kind_(kind) { enter(); }
  Member(const Member& other) noexcept : Member(other.kind_) {}
  Member& operator=(const Member&) noexcept { return *this; }
  ~Member() { leave(); }

 private:
  void enter() noexcept;
  void leave() noexcept;
  static void visit_all(void (*f)(void* context, const Member& member), void* context);

  Member* next_ = nullptr;
  Member* previous_ = nullptr;
  MemberKind kind_;
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
