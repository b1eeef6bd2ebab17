// The memory of a tape: nodes, their inputs, the places of leaves. Kept by its thread for the next tape, so that
// recording allocates nothing in the steady state.
#pragma once

#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/pool.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <span>

namespace tapegrad::detail {

/// One recorded operation, or a leaf.
struct Node {
  Node(const Op* op, const Tensor& y) : op(op), shape(y.shape()), dtype(y.dtype()) {}

  const Op* op;  // nullptr for a leaf
  Backward backward;
  Tensor leaf;  // of a leaf, the tensor itself
  Shape shape;  // of the result
  DType dtype;
  uint32_t input_count = 0;
  int64_t first_input = 0;  // in TapeMemory::inputs
};

/// The positions of leaves on the tape: open addressing, where an entry of an earlier tape counts as free.
class LeafIndex {
 public:
  struct Entry {
    uint64_t tape = 0;  // the tape that entered it
    TapeIndex leaf;
    int64_t position = 0;
  };
  void clear() { count_ = 0; }
  /// The entry of `leaf`, or a free one to fill (entry.tape != tape), after which added() must be called.
  Entry& find(uint64_t tape, const TapeIndex& leaf) {
    if (2 * (count_ + 1) > entries_.size()) grow(tape);
    const std::size_t mask = entries_.size() - 1;
    std::size_t i = (static_cast<uint64_t>(leaf.position) * 0x9E3779B97F4A7C15u >> 32) & mask;
    while (entries_[i].tape == tape && !(entries_[i].leaf == leaf)) i = (i + 1) & mask;
    return entries_[i];
  }
  void added() { ++count_; }

 private:
  void grow(uint64_t tape);
  PoolVector<Entry> entries_;
  std::size_t count_ = 0;
};

struct TapeMemory {
  PoolVector<int64_t> inputs;  // positions of all nodes' inputs, -1 for a constant
  PoolVector<Tensor> sums;     // during backward, the gradients found so far, by position
  PoolVector<uint8_t> needed;  // during a backward of some tensors only: whether a node leads to any, by position
  LeafIndex leaves;
  PoolVector<Tensor> frozen;  // leaves that were used as constants: must keep their values, too
  static constexpr int64_t kNone = INT64_MAX;
  int64_t first_reader = kNone;  // the first node with Reads::anything

  ~TapeMemory();
  /// The memory that an earlier tape of this thread returned, or new memory.
  static TapeMemory* take();
  void give_back();

  int64_t size() const { return count_; }
  Node& node(int64_t position) const { return chunks_[static_cast<std::size_t>(position / kChunk)][position % kChunk]; }
  /// The positions of a node's inputs, -1 for a constant; valid until more is recorded.
  std::span<const int64_t> inputs_of(const Node& node) const {
    return {inputs.data() + node.first_input, node.input_count};
  }
  Node& push(const Op* op, const Tensor& y) {
    if (count_ == static_cast<int64_t>(chunks_.size()) * kChunk) add_chunk();
    Node& fresh = *new (&node(count_)) Node(op, y);
    ++count_;
    return fresh;
  }
  /// Releases a leaf that no node needs any more, so that it may be written to.
  void release_leaf(int64_t position) noexcept;
  /// Destroys all nodes, from the last to the first: the tensors that a node kept are freed before those they were
  /// computed from, without recursion.
  void release_nodes() noexcept;

 private:
  static constexpr int64_t kChunk = 128;  // nodes do not move when more are recorded
  void add_chunk();
  PoolVector<Node*> chunks_;
  int64_t count_ = 0;
  TapeMemory* next_ = nullptr;  // in the thread's free list
  friend struct FreeTapeMemory;
};

/// The list of the numbers of all tapes in scope: a tensor of another thread's tape throws Error rather than becoming a
/// constant silently. begin_tape() returns even numbers; a forward pass, and a tape in one, uses the odd number after.
uint64_t begin_tape();
void end_tape(uint64_t tape);
bool is_alive(uint64_t tape);
/// The number of the tape that began last.
uint64_t newest_tape();
/// Held while that list is read or changed. It is unlocked in a child process, whatever was in scope at the fork.
std::mutex& mutex_of_tapes();

}  // namespace tapegrad::detail
