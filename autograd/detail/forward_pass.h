// Forward mode: tangents that are computed together with their tensors, and die with them. jvp and batch_jacobian are
// made of it.
//
// Forward passes and tapes nest in layers. What is recorded while a forward pass is alive gets a tangent at once from
// the backward that the operation gives to record(), which is then dropped, or kept by the tape among the layers: the
// one that encloses the pass, or one with OuterTensors::tangents that began in it. Tangents are computed in the layers
// outside their pass, so that these differentiate them in turn.
#pragma once

#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/tape.h>

#include <cstdint>
#include <span>

namespace tapegrad::detail {

/// The tangents of one forward pass, in the order of their tensors' places.
struct [[gnu::visibility("hidden")]] Tangents {
  explicit Tangents(bool may_refuse) : may_refuse(may_refuse) {}
  struct Entry {
    TapeIndex of;
    Tensor tangent;
  };
  PoolVector<Entry> entries;
  int64_t numbered = 0;  // tensors that are on no tape
  const bool may_refuse;
  bool refused = false;
  const Tape* pass = nullptr;
  Tangents* next = nullptr;  // in the list of all passes
};

/// Drops the tangents of a tensor that a forward pass has numbered, and that dies.
void forget_tangents(const TapeIndex& of) noexcept;
/// Whether it is the number of a forward pass, not of a tape.
inline bool is_of_forward_pass(uint64_t tape) { return (tape & 1) != 0 && tape != TapeIndex::kLeaf; }

inline constexpr std::string_view kNoBackward =
    "recorded without a backward: expected a function of dy, got an empty one";

/// Recording on one tape, and what record(), needs_grad() and Tape::variable() do in a forward pass. A friend of Tape.
struct [[gnu::visibility("hidden")]] Layers {
  /// What record() does, on the current tape, which may be nullptr; and that on one tape that takes part alone.
  template <class Inputs>
  static Tensor record_on(Tape * tape, const Op& op, Tensor y, const Inputs& inputs, Backward&& backward, Reads reads);
  template <class Inputs>
  static Tensor push(Tape & tape, const Op& op, Tensor y, const Inputs& inputs, Backward&& backward, Reads reads);
  /// The same in layers, of which `top` is the innermost.
  static Tensor record(Tape & top, const Op& op, Tensor y, std::span<const Tensor> inputs, Backward&& backward,
                       Reads reads);
  static Tensor record(Tape & top, const Op& op, Tensor y, std::initializer_list<Input> inputs, Backward&& backward,
                       Reads reads);
  /// The layer outside `tape` that records what it records, or nullptr.
  static Tape* outside(const Tape& tape);
  /// The tape among the layers from `tape` outwards, or nullptr.
  static Tape* tape_of(Tape * tape);
  static PoolVector<Tape*> passes_of(Tape & top);
  /// What Tape::backward does when all is checked; and the same in an operation of a run with create_graph.
  static Gradients run_backward(Tape & tape, const Tensor& loss, const BackwardOptions& options);
  static Gradients run_inside(Tape & tape, const Tensor& loss, const BackwardOptions& options);
  /// Error of op unless there is a gradient per input.
  static void require_count(const Op& op, const Grads& grads, std::size_t inputs);
  /// Whether a result of x would be recorded, or would have a tangent; the latter of layers only.
  static bool differentiates(Tape & tape, const Tensor& x);
  static bool any_differentiates(Tape & top, const Tensor& x);
  static bool take_part(const Tape& tape) { return tape.layered_; }
  /// Gives y, which is new, the tangents of x.
  static void copy_tangents(const Tensor& x, const Tensor& y);
  /// Gives y a tangent in a pass, and a number if it has none.
  static void give(const Tape& pass, const Tensor& y, Tensor tangent);
  /// Whether this is the number of a live forward pass of that thread.
  static bool is_forward_here(uint64_t tape, const void* thread);
};

/// A forward pass of this thread, from its construction to its destruction. Passes may nest.
class [[gnu::visibility("hidden")]] ForwardPass {
 public:
  /// With Refusal::noted, an operation whose backward cannot be differentiated is no Error: it has no tangent, and
  /// refused() is true.
  enum class Refusal { error, noted };
  explicit ForwardPass(Refusal refusal = Refusal::error);
  ~ForwardPass();
  ForwardPass(const ForwardPass&) = delete;
  ForwardPass& operator=(const ForwardPass&) = delete;

  /// x with the tangent v, which has its shape and type.
  Tensor variable(const Tensor& x, const Tensor& v) const;
  /// The tangent of y, zeros if y does not depend on the variables.
  Tensor tangent(const Tensor& y) const;
  /// y without what belongs to this pass.
  Tensor result(const Tensor& y) const;
  bool refused() const { return tangents_.refused; }

 private:
  Tangents tangents_;
  const Tape tape_;
};

}  // namespace tapegrad::detail
