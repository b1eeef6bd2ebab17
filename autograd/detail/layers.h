// How operations are recorded: on one tape, or in the layers of tapes and forward passes (forward_pass.h).
#pragma once

#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/pool.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace tapegrad {

class Gradients;
class Tape;
struct BackwardOptions;

namespace detail {

inline constexpr std::string_view kNoBackward =
    "recorded without a backward: expected a function of dy, got an empty one";

/// Recording on one tape, and what record(), needs_grad() and Tape::variable() do in a forward pass. A friend of Tape.
struct Layers {
  /// record() on the current tape, which may be nullptr; push() records on this tape alone, whatever layers there are.
  template <class Inputs>
  static Tensor record_on(Tape* tape, const Op& op, Tensor y, const Inputs& inputs, Backward&& backward, Reads reads);
  template <class Inputs>
  static Tensor push(Tape& tape, const Op& op, Tensor y, const Inputs& inputs, Backward&& backward, Reads reads);
  /// record() in layers, of which `top` is the innermost.
  static Tensor record(Tape& top, const Op& op, Tensor y, std::span<const Tensor> inputs, Backward&& backward,
                       Reads reads);
  static Tensor record(Tape& top, const Op& op, Tensor y, std::initializer_list<Input> inputs, Backward&& backward,
                       Reads reads);
  /// The next layer outside `tape` that also records what `tape` records, or nullptr.
  static Tape* outside(const Tape& tape);
  /// From `tape` outwards: the first layer that is not a forward pass, or nullptr; all passes, the outermost first.
  static Tape* tape_of(Tape* tape);
  static PoolVector<Tape*> passes_of(Tape& top);
  /// Tape::backward after its checks. run_inside: while an outer backward of the tape runs, whose sums it keeps.
  static Gradients run_backward(Tape& tape, const Tensor& loss, const BackwardOptions& options);
  static Gradients run_inside(Tape& tape, const Tensor& loss, const BackwardOptions& options);
  /// For gradients per example of the losses at `last`: whether each result on the way is known to compute the rows of
  /// an example from that example's rows of its inputs alone, in the same order.
  static bool keeps_examples_apart(Tape& tape, int64_t last, int64_t examples);
  /// Error of op unless there is a gradient per input.
  static void require_count(const Op& op, const Grads& grads, std::size_t inputs);
  /// Whether an operation on x would be recorded, or get a tangent; any_differentiates: in any layer from `top` on.
  static bool differentiates(Tape& tape, const Tensor& x);
  static bool any_differentiates(Tape& top, const Tensor& x);
  static bool take_part(const Tape& tape);
  /// Gives y, which is new, the tangents of x.
  static void copy_tangents(const Tensor& x, const Tensor& y);
  /// Gives y a tangent in a pass, and a TapeIndex if y is on no tape.
  static void give(const Tape& pass, const Tensor& y, Tensor tangent);
  /// Whether this is the number of a forward pass in scope on that thread, or of a tape that began in a pass whose
  /// tangents are being computed: its tensors are constants for the layers outside.
  static bool is_inner(uint64_t tape, const void* thread);
};

}  // namespace detail
}  // namespace tapegrad
