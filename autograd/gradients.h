// What backward returns: the gradients of leaves.
#pragma once

#include <tapegrad/autograd/pool.h>
#include <tapegrad/autograd/tensor.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace tapegrad {

/// A gradient [rows, columns] that is 0 except in the rows `ids`: that of a table whose embedding() was `sparse`.
struct RowGradient {
  int64_t rows = 0;  ///< of the table
  Tensor ids;        ///< int64 [n], ascending, each once; empty handle: there is no gradient
  Tensor values;     ///< [n, columns]
  bool defined() const { return ids.defined(); }  ///< whether there is one
  Tensor dense() const;                           ///< [rows, columns], not recorded
  /// Adds it to x [rows, columns], which is contiguous and has no other handle.
  void add_to(const Tensor& x) const;
  /// The sum of two gradients of one table.
  RowGradient& operator+=(const RowGradient& more);
};

/// Takes the gradients of leaves while backward runs (BackwardOptions::sink), each as soon as it is complete: for
/// updates during backward, and for sending gradients to other processes during backward.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  /// The place of the leaf, and its gradient.
  virtual void take(const TapeIndex& leaf, const Tensor& grad) = 0;
  /// The same for a gradient that is 0 except in some rows.
  virtual void take_rows(const TapeIndex& leaf, const RowGradient& grad) { take(leaf, grad.dense()); }
  /// Called after every operation's backward, and after take(). `may_write`: nothing that is still to run reads the
  /// leaves that were taken so far (Reads), so, unless the graph is retained, their values may be changed.
  virtual void ran_node(bool may_write) = 0;
};

/// A gradient for every leaf that took part in the loss, and for every tensor that BackwardOptions::keep named. Each
/// has the shape and element type of its tensor.
class [[nodiscard]] Gradients {
 public:
  /// Empty: the start of a sum.
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
  bool contains(const Tensor& leaf) const { return entry_of(leaf) != nullptr; }
  /// A gradient that is 0 except in some rows (embedding() with `sparse`), without making it dense; nullptr if it is
  /// another one, or was replaced. Everything else that reads gradients gets dense tensors.
  const RowGradient* rows(const Tensor& leaf) const;
  std::size_t size() const { return entries_.size(); }

  /// Replaces a gradient, or adds one. Error if `leaf` is a constant, or shapes or types differ.
  void set(const Tensor& leaf, Tensor grad);
  /// Adds gradients of another backward, leaf by leaf: accumulation over micro-batches. A leaf that one side lacks has
  /// a zero gradient there. Takes the memory of `more`; references to gradients of either become invalid.
  Gradients& operator+=(Gradients&& more);
  /// Multiplies every gradient.
  Gradients& operator*=(double factor);

  /// An entry, for a loop over all gradients, sorted by place: kept tensors in order of recording, then leaves in the
  /// order in which they were made.
  struct Entry {
    TapeIndex place;  // of the tensor that this is the gradient of
    Tensor grad;      ///< in the shape and type of the leaf
  };
  Entry* begin() { return make_dense(), entries_.data(); }
  Entry* end() { return entries_.data() + entries_.size(); }
  const Entry* begin() const { return make_dense(), entries_.data(); }
  const Entry* end() const { return entries_.data() + entries_.size(); }
  /// The same without making gradients dense: `grad` may be empty for an entry that has rows().
  std::span<Entry> entries() { return entries_; }
  std::span<const Entry> entries() const { return entries_; }  ///< the same, to read
  /// The rows of an entry, to be changed. Afterwards `grad` must be empty; or replace `grad`, and empty the rows.
  RowGradient* rows(const Entry& entry);
  /// Removes those for which remove(entry) is true.
  void erase_if(const auto& remove) { std::erase_if(entries_, remove); }

 private:
  using Entries = std::vector<Entry, pool::Allocator<Entry>>;
  const Tensor& of(const Tensor& leaf, std::string_view name) const;
  struct Sparse {
    TapeIndex place;
    RowGradient rows;
    Tensor made;  // the dense gradient; Entry::grad is empty, or this one, or a replacement of the rows
  };
  using SparseEntries = std::vector<Sparse, pool::Allocator<Sparse>>;
  Entry* entry_of(const Tensor& leaf) const;
  Sparse* sparse_of(const Entry& entry) const;
  const Tensor& dense(Entry& entry) const;
  void make_dense() const;
  void add_to(Entry& sum, Gradients& more, Entry& other);
  friend class Tape;
  Gradients(Entries entries, SparseEntries sparse);  // in any order
  mutable Entries entries_;                          // sorted by place; reading makes gradients dense
  mutable SparseEntries sparse_;
};

}  // namespace tapegrad
