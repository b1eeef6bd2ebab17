// What is recorded on a tape, as it happens, and what a recorded operation's backward returns: nn::watch keeps the
// values of a pass, nn::certify checks each operation by itself.
#pragma once

#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/tensor.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace tapegrad {

class Tape;

namespace detail {
/// The gradients of the inputs of one recorded operation from that of its result, in the inputs' shapes, by its own
/// backward alone. Empty handles for constants and where there is no gradient; none for a leaf. The tape is kept.
Grads gradients_of_inputs(Tape& tape, int64_t position, const Tensor& dy);
}  // namespace detail

/// While one is alive, it is told what its thread records on a tape.
class TapeWatch {
 public:
  explicit TapeWatch(const Tape& tape);
  virtual ~TapeWatch();
  TapeWatch(const TapeWatch&) = delete;
  TapeWatch& operator=(const TapeWatch&) = delete;

  /// The newest of this thread, or nullptr.
  static TapeWatch* current();
  const Tape& tape() const { return tape_; }

  /// y was recorded as an operation on these inputs, of which any may be empty.
  virtual void recorded(const Tensor& y, std::span<const Tensor> inputs) = 0;
  /// A container called one of its modules.
  virtual void called(const void* module, std::string_view type, const Tensor& result) = 0;

 private:
  const Tape& tape_;
  TapeWatch* const outer_;
};

}  // namespace tapegrad
