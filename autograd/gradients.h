// What backward returns: the gradients of leaves.
#pragma once

#include <tapegrad/autograd/pool.h>
#include <tapegrad/autograd/tensor.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace tapegrad {

/// Takes the gradients of leaves while backward runs (BackwardOptions::sink), each as soon as it is complete: for
/// updates during backward, and for sending gradients to other processes during backward.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  /// The place of the leaf, and its gradient.
  virtual void take(const TapeIndex& leaf, const Tensor& grad) = 0;
  /// Called after every operation's backward, and after take(). `may_write`: nothing that is still to run reads the
  /// leaves that were taken so far (Reads), so, unless the graph is retained, their values may be changed.
  virtual void ran_node(bool may_write) = 0;
};

/// A gradient for every leaf that took part in the loss, and for every tensor that BackwardOptions::keep named. Each
/// has the shape and element type of its tensor.
class [[nodiscard]] Gradients {
 public:
  /// No gradient of anything: the start of a sum.
  Gradients() = default;
  /// The gradient of a leaf. Error if it took no part in the loss.
  const Tensor& operator[](const Tensor& leaf) const { return of(leaf, ""); }
  /// The same for an nn::Parameter, or another type with a tensor and a name; the Error then has the name.
  template <class Named>
  requires requires(const Named& n) {
    n.tensor();
    n.name();
  }
  const Tensor& operator[](const Named& leaf) const { return of(leaf.tensor(), leaf.name()); }
  /// nullptr instead of the Error.
  const Tensor* find(const Tensor& leaf) const;
  bool contains(const Tensor& leaf) const { return find(leaf) != nullptr; }
  std::size_t size() const { return entries_.size(); }

  /// Replaces a gradient, or adds one. Error if `leaf` is a constant, or shapes or types differ.
  void set(const Tensor& leaf, Tensor grad);
  /// Adds gradients of another backward, leaf by leaf: accumulation over micro-batches. A leaf that one side lacks has
  /// a zero gradient there. Takes the memory of `more`; references to gradients of either become invalid.
  Gradients& operator+=(Gradients&& more);
  /// Multiplies every gradient.
  Gradients& operator*=(double factor);

  /// For a pass over all of them, sorted by place: kept tensors in order of recording, then leaves in the order in
  /// which they were made.
  struct Entry {
    TapeIndex place;  // of the tensor that this is the gradient of
    Tensor grad;      ///< in the shape and type of the leaf
  };
  Entry* begin() { return entries_.data(); }
  Entry* end() { return entries_.data() + entries_.size(); }
  const Entry* begin() const { return entries_.data(); }
  const Entry* end() const { return entries_.data() + entries_.size(); }

 private:
  using Entries = std::vector<Entry, pool::Allocator<Entry>>;
  const Tensor& of(const Tensor& leaf, std::string_view name) const;
  friend class Tape;
  explicit Gradients(Entries entries);  // in any order
  Entries entries_;                     // sorted by place
};

}  // namespace tapegrad
