// The tape: operations are recorded while one is alive, and backward is one loop from the end. Start reading here.
#pragma once

#include <tapegrad/autograd/inplace_function.h>
#include <tapegrad/autograd/tensor.h>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapegrad {

// One constant per operation, with static lifetime, beside its definition. Being an Op means being in Op::all().
struct Op {
  Op(std::string_view name, bool twice = true);  // NOLINT: const Op kTanh{"tanh"}
  Op(const Op&) = delete;

  std::string_view name;
  bool twice;  // its backward is itself made of recorded operations; otherwise create_graph is refused, by name

  [[noreturn]] void fail(std::string_view message) const { tapegrad::fail(name, message); }
  static const std::vector<const Op*>& all();
};

// Gradients for the inputs of one operation, in their order. One that nobody needs may be left an empty handle.
class Grads {
 public:
  Grads() = default;
  template <class... T>
  requires(sizeof...(T) <= 4 && (std::is_convertible_v<T, Tensor> && ...))
      Grads(T&&... grads) {  // NOLINT: a backward returns {dx, dw}, or dx alone
    (push_back(std::forward<T>(grads)), ...);
  }
  void push_back(Tensor grad) {
    if (count_ < kInPlace) {
      few_[count_] = std::move(grad);
    } else {
      many_.push_back(std::move(grad));
    }
    ++count_;
  }
  std::size_t size() const { return count_; }
  Tensor& operator[](std::size_t i) { return i < kInPlace ? few_[i] : many_[i - kInPlace]; }

 private:
  static constexpr std::size_t kInPlace = 4;
  Tensor few_[kInPlace];
  std::vector<Tensor, pool::Allocator<Tensor>> many_;
  std::size_t count_ = 0;
};

// dy has the shape of the operation's result. It owns exactly what forward chose to keep.
using Backward = InplaceFunction<Grads(const Tensor& dy)>;

// A tensor named as the input of an operation; nothing is copied.
class Input {
 public:
  Input(const Tensor& x) : tensor_(&x) {}  // NOLINT: record(kMul, y, {a, b}, ...)
  operator const Tensor&() const { return *tensor_; }

 private:
  const Tensor* tensor_;
};

// What backward found: a gradient for every leaf that took part, and for what BackwardOptions::keep named.
class Gradients {
 public:
  // The gradient of a leaf, in its shape. Error for a tensor that took no part in the loss.
  const Tensor& operator[](const Tensor& leaf) const { return of(leaf, ""); }
  // The same of an nn::Parameter, or whatever else knows its tensor and its name; the Error then has the name.
  template <class Named>
  requires requires(const Named& n) {
    n.tensor();
    n.name();
  }
  const Tensor& operator[](const Named& leaf) const { return of(leaf.tensor(), leaf.name()); }
  const Tensor* find(const Tensor& leaf) const;  // nullptr instead of the Error
  bool contains(const Tensor& leaf) const { return find(leaf) != nullptr; }
  void set(const Tensor& leaf, Tensor grad);  // clipping, accumulation over micro-batches, gradients from elsewhere
  std::size_t size() const { return entries_.size(); }

  // For a pass over all of them: leaves in the order in which they were made, behind what was kept by name.
  struct Entry {
    TapeIndex place;  // of what it is the gradient of
    Tensor grad;
  };
  Entry* begin() { return entries_.data(); }
  Entry* end() { return entries_.data() + entries_.size(); }

 private:
  const Tensor& of(const Tensor& leaf, std::string_view name) const;
  friend class Tape;
  std::vector<Entry, pool::Allocator<Entry>> entries_;  // sorted by place
};

struct BackwardOptions {
  bool create_graph = false;  // record backward itself, so that gradients can be differentiated again
  Tensor grad_output = {};    // dL/dloss, in the loss's shape; 1 where it is left out, and then the loss is one number
  std::vector<Tensor> keep = {};  // recorded tensors, beside the leaves, whose gradients are wanted
};

// Operations on this thread are recorded on the innermost tape alive. To a tape, everything that it did not record
// itself is a constant, but for leaves. Without a tape nothing is recorded and nothing is kept.
class Tape {
 public:
  Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // dloss/dleaf for every leaf. Without create_graph it frees what was recorded, node by node, and records no more: one
  // backward a tape.
  Gradients backward(const Tensor& loss, const BackwardOptions& options = {});

  // From now on, the first value or gradient that is not finite is an Error that names operation, place and shapes.
  void trap_nan() { trap_nan_ = true; }

  int64_t size() const { return count_; }            // recorded operations and leaves
  std::string_view op_name(int64_t position) const;  // what stands there; "leaf" for a leaf

  // --- for operations ---
  static Tape* current();                // the tape that records on this thread, or nullptr
  int64_t position_of(const Tensor& x);  // where x stands on this tape (a leaf is entered), or -1: a constant

 private:
  friend class PauseRecording;
  friend Tensor record(const Op& op, Tensor y, std::initializer_list<Input> inputs, Backward&& backward);
  friend Tensor record(const Op& op, Tensor y, std::span<const Tensor> inputs, Backward&& backward);
  struct Node;
  struct Reel;  // the memory of a tape, wound up again by the next one
  Node& node(int64_t position) const;
  Node& push(const Op* op, const Tensor& y);
  template <class Inputs>
  static Tensor enter(const Op& op, Tensor y, const Inputs& inputs, Backward&& backward);
  void release_all() noexcept;
  void accumulate(const Op& op, int64_t position, Tensor grad, bool create_graph);
  void check_finite(const Tensor& x, std::string_view op, int64_t position, std::string_view what) const;

  Tape* const outer_;
  const uint64_t id_;
  Reel* reel_;
  int64_t count_ = 0;
  bool recording_ = true;
  bool spent_ = false;
  bool trap_nan_ = false;
};

// While one is alive on this thread, nothing is recorded: for kernels made of operations, metrics, samples.
class PauseRecording {
 public:
  PauseRecording();
  ~PauseRecording();
  PauseRecording(const PauseRecording&) = delete;
  PauseRecording& operator=(const PauseRecording&) = delete;

 private:
  Tape* const tape_;
  const bool before_;
};

// Would an operation on x be recorded now? Ask before keeping anything for backward.
bool needs_grad(const Tensor& x);

// Enters y as the result of `op` on `inputs` if a tape records and one of them is on it; y itself otherwise. y is a
// fresh result of the operation: it becomes the recorded tensor, also where `backward` has captured it.
Tensor record(const Op& op, Tensor y, std::initializer_list<Input> inputs, Backward&& backward);
Tensor record(const Op& op, Tensor y, std::span<const Tensor> inputs, Backward&& backward);

}  // namespace tapegrad
