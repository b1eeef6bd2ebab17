// What is recorded on a tape, as it happens: nn::watch keeps the values of a pass.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <span>
#include <string_view>

namespace tapegrad {

class Tape;

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
