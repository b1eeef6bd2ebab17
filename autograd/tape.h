// The tape: while one is in scope, operations are recorded; backward is one loop from the end. Start reading here, then
// read backward.cpp and tape.cpp.
#pragma once

#include <tapegrad/autograd/gradients.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/tensor.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tapegrad {

class Tape;

namespace detail {
struct TapeMemory;
struct Tangents;
struct Layers;
class ForwardPass;
Grads gradients_of_inputs(Tape& tape, int64_t position, const Tensor& dy);
}  // namespace detail

struct BackwardOptions {
  /// Record backward itself, so that the gradients can be differentiated again; the tape stays usable.
  bool create_graph = false;
  /// Keep what was recorded, so that backward can run again on this tape. create_graph implies it.
  bool retain_graph = false;
  /// dL/dloss, in the loss's shape and element type. If left out it is 1, and the loss must have one element.
  Tensor grad_output = {};
  /// Recorded tensors, in addition to the leaves, to return gradients for.
  std::vector<Tensor> keep = {};
  /// If not empty: return only the gradients of these recorded tensors and leaves, and run only the operations that
  /// they need. A tensor that took no part in the loss gets no gradient.
  std::vector<Tensor> only = {};
  /// If given, it takes the gradients of leaves, which backward then does not return.
  GradientSink* sink = nullptr;
  /// The loss is [B], one loss per example, and every leaf gets the gradients of all of them, with the shape [B, ...]
  /// (per_example.h).
  bool per_example = false;
};

/// How a tape treats tensors that an enclosing tape of this thread has recorded.
enum class OuterTensors {
  constants,
  leaves,  // gradients are computed for them, too
  // Constants, but a jvp that encloses the tape differentiates what the tape records, and its backward. Error if there
  // is another tape around that jvp, or between the two.
  tangents,
};

/// Records the operations of this thread from its construction to its destruction or its backward(). If several tapes
/// are in scope, only the innermost records. Everything that the tape has not recorded is a constant, except leaves;
/// but a tensor of a tape that has gone out of scope throws Error, because its gradient would be lost silently
/// (detach() it). Without a tape nothing is recorded, and nothing is kept for backward.
///
/// A tape belongs to the thread that constructed it, and must be destroyed there (otherwise the process is aborted).
/// Tapes may be destroyed in any order. If a function that backward calls destroys the tape, backward raises an Error.
class Tape : NonCopyable {
 public:
  [[nodiscard]] explicit Tape(OuterTensors outer_tensors = OuterTensors::constants);
  ~Tape();

  /// dloss/dleaf for every leaf that took part in the loss. Frees what was recorded, node by node; the tape then
  /// records nothing more, and cannot run backward again. With create_graph or retain_graph it keeps everything and
  /// records on. Error if this is not the innermost tape, or the loss was not recorded on it.
  [[nodiscard]] Gradients backward(const Tensor& loss, const BackwardOptions& options = {});

  /// From now on, the first NaN or infinity in a value or gradient (but not the -inf of a mask) raises an Error with
  /// its operation, position, shapes, and the nearest named parameter that it was computed from.
  void trap_nan() { trap_nan_ = true; }

  /// Number of recorded operations and leaves.
  int64_t size() const;
  /// The name of the operation at a position in [0, size()), "leaf" for a leaf. Error outside.
  std::string_view op_name(int64_t position) const;
  /// The shape of its result, and the positions of its inputs (-1 for a constant; none for a leaf). The same Error.
  const Shape& shape_of(int64_t position) const;
  std::span<const int64_t> inputs_of(int64_t position) const;
  /// The leaves entered so far, in the order of their first use.
  std::vector<Tensor> leaves() const;
  /// Those among them that `loss` was computed from. The Errors of backward(loss).
  PoolVector<Tensor> leaves_of(const Tensor& loss);
  /// Whether any operation recorded so far has Reads::anything.
  bool reads_anything() const;

  /// The tape that records on this thread now, or nullptr.
  static Tape* current();
  /// The tape that keeps what this thread records now, for a later backward. This is current(), except within a jvp,
  /// which keeps nothing: there, the tape around the jvp. nullptr if there is none.
  static Tape* for_backward();
  /// The position of x on this tape; -1 for a constant. A leaf is entered if it is not on the tape yet. Error for a
  /// tensor that is recorded on a tape in scope of another thread.
  int64_t position_of(const Tensor& x);
  /// x at a new position on the current tape, so that backward can return its gradient (BackwardOptions::only, keep),
  /// whether x is recorded or a constant. Error if no tape records.
  static Tensor variable(const Tensor& x);

 private:
  friend class PauseRecording;
  friend struct detail::Layers;
  friend class detail::ForwardPass;
  friend Grads detail::gradients_of_inputs(Tape& tape, int64_t position, const Tensor& dy);
  enum class State { recording, running_backward, spent };
  class BackwardRun;
  Tape(OuterTensors outer_tensors, detail::Tangents* tangents);
  static bool begins_layered(OuterTensors outer_tensors, const detail::Tangents* tangents);
  void require_position(int64_t position) const;
  int64_t enter_leaf(const Tensor& x);
  void hold_frozen(const Tensor& x);
  bool on_its_thread() const;
  void require_differentiable(const Tensor& loss, const BackwardOptions& options);
  [[noreturn]] void fail_unrecorded() const;
  void leave_to_backward();

  // A forward pass, or a tape with OuterTensors::tangents in one: these have odd numbers.
  const bool layered_;
  Tape** const thread_;  // the innermost tape of the thread that it belongs to
  Tape* outer_;          // the tape that was innermost before
  const uint64_t id_;
  detail::TapeMemory* const memory_;
  int pauses_ = 0;  // number of live PauseRecordings that began after it
  State state_ = State::recording;
  const OuterTensors outer_tensors_;
  BackwardRun* running_ = nullptr;  // the backward that runs
  bool trap_nan_ = false;
  detail::Tangents* const tangents_;  // of a forward pass, which keeps no nodes (autograd/detail/forward_pass.h)
};

}  // namespace tapegrad
