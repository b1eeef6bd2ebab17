// What is recorded on a tape, as it happens, and what a recorded operation's backward returns: nn::watch keeps the
// values of a pass, nn::certify checks each operation by itself.
#pragma once

#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/op_settings.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tapegrad {

class Tape;

namespace detail {
/// The gradients of one recorded operation's inputs, in their shapes, from the gradient dy of its result, by its own
/// backward alone; it can be called again. Empty handles where there is no gradient; an empty list for a leaf.
Grads gradients_of_inputs(Tape& tape, int64_t position, const Tensor& dy);
}  // namespace detail

/// While one is in scope, its functions are called for what its thread records on a tape.
class TapeWatch : NonCopyable {
 public:
  explicit TapeWatch(const Tape& tape);
  virtual ~TapeWatch();

  /// The newest of this thread, or nullptr.
  static TapeWatch* current();
  const Tape& tape() const { return tape_; }

  /// y was recorded as an operation on these inputs, of which any may be empty.
  virtual void recorded(const Tensor& y, std::span<const Tensor> inputs) = 0;
  /// What the operation that gave y was called with. y may also be on no tape, or on another one.
  virtual void called_with(const Tensor& /*y*/, OpSettings /*settings*/) {}
  /// Whether attention is to be recorded as its parts: scores, mask, softmax, weighted values.
  virtual bool plain_attention() const { return false; }
  /// A container called one of its modules.
  virtual void called(const void* /*module*/, std::string_view /*type*/, const Tensor& /*result*/) {}

 private:
  const Tape& tape_;
  TapeWatch* const outer_;
};

namespace detail {

inline void add_settings(OpSettings&) {}
template <class Value, class... Rest>
void add_settings(OpSettings& to, std::string_view name, const Value& value, const Rest&... rest) {
  if constexpr (std::is_convertible_v<const Value&, double> || std::is_enum_v<Value>) {
    to.emplace_back(name, static_cast<double>(value));
  } else {
    to.emplace_back(name, value);
  }
  add_settings(to, rest...);
}

}  // namespace detail

/// Returns y after reporting its settings to the TapeWatch: with_settings(record(kSelect, ...), "axis", axis, ...).
template <class... Settings>
Tensor with_settings(Tensor y, const Settings&... named) {
  if (TapeWatch* const watch = TapeWatch::current()) [[unlikely]] {
    OpSettings settings;
    detail::add_settings(settings, named...);
    watch->called_with(y, std::move(settings));
  }
  return y;
}

}  // namespace tapegrad
