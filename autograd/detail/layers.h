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
  /// What record() does, on the current tape, which may be nullptr; and that on one tape that takes part alone.
  template <class Inputs>
  static Tensor record_on(Tape* tape, const Op& op, Tensor y, const Inputs& inputs, Backward&& backward, Reads reads);
  template <class Inputs>
  static Tensor push(Tape& tape, const Op& op, Tensor y, const Inputs& inputs, Backward&& backward, Reads reads);
  /// The same in layers, of which `top` is the innermost.
  static Tensor record(Tape& top, const Op& op, Tensor y, std::span<const Tensor> inputs, Backward&& backward,
                       Reads reads);
  static Tensor record(Tape& top, const Op& op, Tensor y, std::initializer_list<Input> inputs, Backward&& backward,
                       Reads reads);
  /// The layer outside `tape` that records what it records, or nullptr.
  static Tape* outside(const Tape& tape);
  /// The tape among the layers from `tape` outwards, or nullptr.
  static Tape* tape_of(Tape* tape);
  static PoolVector<Tape*> passes_of(Tape& top);
  /// What Tape::backward does when all is checked; and the same in an operation of a run with create_graph.
  static Gradients run_backward(Tape& tape, const Tensor& loss, const BackwardOptions& options);
  static Gradients run_inside(Tape& tape, const Tensor& loss, const BackwardOptions& options);
  /// Whether, in gradients per example of losses at `last`, every result with the examples' rows is known to get them
  /// from those rows of its inputs alone, in the same order.
  static bool keeps_examples_apart(Tape& tape, int64_t last, int64_t examples);
  /// Error of op unless there is a gradient per input.
  static void require_count(const Op& op, const Grads& grads, std::size_t inputs);
  /// Whether a result of x would be recorded, or would have a tangent; the latter of layers only.
  static bool differentiates(Tape& tape, const Tensor& x);
  static bool any_differentiates(Tape& top, const Tensor& x);
  static bool take_part(const Tape& tape);
  /// Gives y, which is new, the tangents of x.
  static void copy_tangents(const Tensor& x, const Tensor& y);
  /// Gives y a tangent in a pass, and a number if it has none.
  static void give(const Tape& pass, const Tensor& y, Tensor tangent);
  /// Whether this is the number of a forward pass that is alive on that thread, or of a tape that began in one whose
  /// tangents are being computed: constants for the tapes outside.
  static bool is_inner(uint64_t tape, const void* thread);
};

}  // namespace detail
}  // namespace tapegrad
