// The interface for writing operations: Op, record(), and custom() for operations of your own program.
//
//   const Op kCube{"cube"};
//   Tensor cube(const Tensor& x) {
//     return custom(kCube, {x}, [](const Tensor& x) { return x * x * x; },
//                   [x](const Tensor& dy) -> Grads { return dy * 3 * x * x; });
//   }
#pragma once

#include <tapegrad/autograd/inplace_function.h>
#include <tapegrad/autograd/pool.h>
#include <tapegrad/autograd/recording.h>
#include <tapegrad/autograd/tensor.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapegrad {

struct RowGradient;  // gradients.h

/// How forward mode (jvp) gets the tangent of an operation's result from the tangents of its inputs, by its backward.
enum class TangentRule : uint8_t {
  by_backward,  ///< its derivative with respect to dy: for any operation whose backward can be differentiated
  symmetric,    ///< it maps the tangent of an input as it maps dy: each input's Jacobian is a symmetric matrix
  written,      ///< it computes the tangent itself, when BackwardPass::tangents is given
};

/// Which rows of the inputs, along the first axis, row r of an operation's result depends on: of all inputs but
/// weights, for which the operation returns a gradient per example (BackwardPass::examples). Losses per example whose
/// operations keep the examples apart need one backward pass; otherwise a second one may have to show that they do.
enum class RowRule : uint8_t {
  unknown,       ///< any
  broadcast,     ///< rows r of the inputs that have the result's first axis: elementwise operations
  weights,       ///< of none: inputs are weights, and rows of the result belong to indices
  first,         ///< row r of the first input, which has the result's rank
  normalized,    ///< the same if a weight shows that the first axis is not normalised
  of_batch,      ///< the same if the second input has the result's rank, too: windows of a batch
  attention,     ///< rows r of the first three inputs, if there is no fourth
  product,       ///< of matrices: `first`; of batches of them: `broadcast`
  classes,       ///< row r of the first input, which has one more axis
  same_order,    ///< the first input's elements, in their order
  another_axis,  ///< rows r of all inputs if sizes show that the axis that is cut or joined is not the first one
  moved,         ///< row r of the input if the gradient is a view of dy, perhaps times a number, that shows it
};

/// Properties of an operation, for the tape and the tests.
struct OpTraits {
  /// The backward is itself made of recorded operations; otherwise create_graph throws an Error that names the
  /// operation.
  bool twice = true;
  /// The operation replaces elements by given numbers, which may be infinite: Tape::trap_nan() accepts them.
  bool selects = false;
  TangentRule tangent = TangentRule::by_backward;
  RowRule rows = RowRule::unknown;
};

/// One constant per operation, with static lifetime, next to its definition: const Op kTanh{"tanh"}. Constructing it
/// enters it in Op::all().
struct Op : OpTraits {
  Op(std::string_view op, bool again = true) : Op(op, OpTraits{.twice = again}) {}  // NOLINT: Op kTanh{"tanh"}
  Op(std::string_view name, OpTraits traits);
  Op(const Op&) = delete;

  std::string_view name;  ///< prefix of its errors, and its name in the profiler

  /// Throws Error "[name] message".
  [[noreturn]] void fail(std::string_view message) const { tapegrad::fail(name, message); }
  /// Every operation of the process.
  static const std::vector<const Op*>& all();
};

/// An operation whose result has the shape that its inputs broadcast to, and whose Jacobian with respect to each input
/// is symmetric, such as softmax.
struct SymmetricOp : Op {
  SymmetricOp(std::string_view op, OpTraits traits = {}) : Op(op, traits) {
    tangent = TangentRule::symmetric;
  }  // NOLINT
};

/// A SymmetricOp whose Jacobians are diagonal.
struct ElementwiseOp : SymmetricOp {
  ElementwiseOp(std::string_view op, OpTraits traits = {}) : SymmetricOp(op, traits) {  // NOLINT: like Op
    rows = RowRule::broadcast;
  }
};

/// An operation that has its own rule for tangents: its backward must test BackwardPass::is_forward().
struct RuledOp : Op {
  RuledOp(std::string_view op, RowRule rule = RowRule::unknown) : Op(op) {  // NOLINT: like Op
    tangent = TangentRule::written;
    rows = rule;
  }
};

/// The gradients of an operation's inputs, in the order of the inputs: a backward returns {dx, dw}, or just dx. An
/// empty handle means a gradient that is zero or not needed.
class Grads {
 public:
  Grads() = default;
  template <class... T>
  requires(sizeof...(T) <= 4 && (std::is_convertible_v<T, Tensor> && ...)) Grads(T&&... grads)  // NOLINT: return dx;
      : few_{Tensor(std::forward<T>(grads))...}, count_(sizeof...(T)) {}
  /// Appends the gradient of the next input; an empty handle for none.
  void push_back(Tensor grad) {
    if (count_ < kInPlace) {
      few_[count_] = std::move(grad);
    } else {
      many_.push_back(std::move(grad));
    }
    ++count_;
  }
  std::size_t size() const { return count_; }
  /// The gradient of input i, unchecked.
  Tensor& operator[](std::size_t i) { return i < kInPlace ? few_[i] : many_[i - kInPlace]; }

 private:
  static constexpr std::size_t kInPlace = 4;
  Tensor few_[kInPlace];
  std::vector<Tensor, pool::Allocator<Tensor>> many_;
  std::size_t count_ = 0;
};

/// What an operation's backward may read about the pass that runs it.
struct BackwardPass {
  /// Whether the operation may run again: it must not change what it captured.
  bool retained = false;
  /// If not 0, the gradients are per example (BackwardOptions::per_example). dy is the gradient for all examples at
  /// once; the operation's rows, along the first axis, belong to the examples in order. For an input without that axis,
  /// such as a weight, the operation returns one gradient per example, [examples, ...], or a gradient in the result's
  /// shape, which the tape sums.
  int64_t examples = 0;
  /// False for an input whose gradient BackwardOptions::only makes unnecessary: the operation need not compute it.
  bool wants(std::size_t input) const { return input >= 32 || (unwanted >> input & 1U) == 0; }
  /// For operations whose gradient is 0 almost everywhere: what other operations have added to the gradient of this
  /// input so far. The operation may add to it in place, and then returns no gradient for the input. nullptr if there
  /// is nothing yet, if another handle of this sum exists, if backward itself is recorded, or if every gradient is to
  /// be checked.
  Tensor* gradient_so_far(std::size_t input) const;
  /// For a gradient of the first input that is 0 except in some rows: if not nullptr, the operation may put it here,
  /// and then returns no gradient for that input.
  RowGradient* rows = nullptr;
  /// For a RuledOp in forward mode: the tangents of its inputs, at least one of them not empty (empty: zero). Then `dy`
  /// is the operation's result, and the operation returns the tangent of the result in place of gradients, or nothing,
  /// so that the tangent is computed by backward.
  std::span<const Tensor> tangents = {};
  bool is_forward() const { return !tangents.empty(); }

  // The tape fills in these.
  std::span<Tensor> sums = {};              // by position; empty if they must not be changed
  std::span<const int64_t> positions = {};  // of the inputs
  uint32_t unwanted = 0;                    // a bit per input
};

/// Computes the gradients of the inputs from dy = dL/dy, which has the result's shape. A gradient may also have a shape
/// that the input broadcasts to: the tape sums it. What the closure captures is exactly what the tape keeps. A closure
/// that reuses what it captured takes a BackwardPass, too; others leave it out: [x](const Tensor& dy) -> Grads {...}.
using Backward = InplaceFunction<Grads(const Tensor& dy, const BackwardPass& pass)>;

/// A tensor named as an operation's input. Refers to the tensor: an initializer_list of tensors would copy each handle,
/// which costs two atomic increments per call.
class Input {
 public:
  Input(const Tensor& x) : tensor_(&x) {}  // NOLINT: record(kMul, y, {a, b}, ...)
  /// The operand.
  operator const Tensor&() const { return *tensor_; }

 private:
  const Tensor* tensor_;
};

/// Would an operation on x be recorded now? Ask before keeping anything for backward.
bool needs_grad(const Tensor& x);

/// Which leaves a backward may read when it runs. Optimizer::step(tape, loss) changes leaves while backward runs: each
/// as soon as no operation that is still to run may read it.
enum class Reads {
  inputs,    ///< those among the operation's inputs
  anything,  ///< any: by a handle or reference that it captured, or in functions that it calls
};

/// Records y as op(inputs) if the current tape tracks any input; otherwise returns y unchanged. y must be freshly
/// computed; copies of y captured by `backward` refer to the recorded tensor. An undefined input is a constant.
/// `backward` must read no leaves but `inputs`. (A view of a leaf, or a detached tensor, is not the leaf: it keeps its
/// values when the leaf is updated.)
Tensor record(const Op& op, Tensor y, std::initializer_list<Input> inputs, Backward&& backward);
Tensor record(const Op& op, Tensor y, std::span<const Tensor> inputs, Backward&& backward);
/// The same; with Reads::anything, `backward` may read any leaf.
Tensor record(const Op& op, Tensor y, std::initializer_list<Input> inputs, Backward&& backward, Reads reads);
Tensor record(const Op& op, Tensor y, std::span<const Tensor> inputs, Backward&& backward, Reads reads);

/// A custom operation: runs forward(inputs...) without recording the operations in it, and records its result as `op`.
/// `backward` takes dy, or dy and the result y, and returns Grads. If it is made of tapegrad's operations, it can be
/// differentiated again. It may read any tensor; with Reads::inputs it promises to read no leaves but `inputs`, and
/// Optimizer::step(tape, loss) needs less memory.
template <std::size_t N, class Forward, class Derivative>
Tensor custom(const Op& op, const Input (&inputs)[N], Forward&& forward, Derivative backward,
              Reads reads = Reads::anything) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    Tensor y;
    {
      const PauseRecording pause;
      y = forward(static_cast<const Tensor&>(inputs[I])...);
    }
    y = y.view(y.shape(), y.strides());  // a new handle: forward may return an input, or a tensor that it holds
    if constexpr (std::is_invocable_v<Derivative&, const Tensor&, const Tensor&>) {
      auto with_result = [y, backward = std::move(backward)](const Tensor& dy) mutable { return backward(dy, y); };
      return record(op, y, {inputs[I]...}, std::move(with_result), reads);
    } else {
      return record(op, y, {inputs[I]...}, std::move(backward), reads);
    }
  }
  (std::make_index_sequence<N>());
}

}  // namespace tapegrad
