// Whether all operations on the way to losses per example keep the examples apart: known from the operation and the
// shapes, or, where it only moves elements, from the strides of its gradient.
// build: -Os
#include <tapegrad/autograd/detail/layers.h>
#include <tapegrad/autograd/detail/tape_memory.h>
#include <tapegrad/autograd/internal/tape_watch.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>

#include <algorithm>
#include <span>

namespace tapegrad::detail {
namespace {

// A result with the rows of the examples, in order.
class RowsOf {
 public:
  RowsOf(Tape& tape, const TapeMemory& memory, int64_t position)
      : tape_(tape),
        memory_(memory),
        position_(position),
        node_(memory.node(position)),
        inputs_(memory.inputs_of(node_)),
        y_(node_.shape) {}

  // Whether the operation is known to keep them apart; then take(position) is called for each input that has them, too.
  template <class Take>
  bool are_kept(const Take& take) const {
    const auto rows = [&](std::size_t count, int rank) { return take_rows(take, count, rank); };
    const int rank = y_.rank();
    switch (node_.op->rows) {
      case RowRule::unknown: return false;
      case RowRule::broadcast: return take_broadcast(take);
      case RowRule::weights: return rank > 1;
      case RowRule::first: return rank > 1 && rows(1, rank);
      case RowRule::normalized: return rank > 1 && (has_rank_below(1) || has_rank_below(2)) && rows(1, rank);
      case RowRule::of_batch: return rank > 1 && !is_constant(1) && shape(1).rank() == rank && rows(1, rank);
      case RowRule::attention: return rank > 2 && is_constant(3) && rows(3, rank);
      case RowRule::product: return rank > 2 ? take_broadcast(take) : rank > 1 && rows(1, rank);
      case RowRule::classes: return rows(1, rank + 1);
      case RowRule::same_order: return take(inputs_[0]), true;
      case RowRule::another_axis: return cuts_another_axis() && rows(inputs_.size(), 0);
      case RowRule::moved: return rows_are_moved() && rows(1, 0);
    }
    return false;
  }

 private:
  bool is_constant(std::size_t i) const { return i >= inputs_.size() || inputs_[i] < 0; }
  const Shape& shape(std::size_t i) const { return memory_.node(inputs_[i]).shape; }
  // Of a weight or bias of normalised axes: the first is none of them.
  bool has_rank_below(std::size_t i) const { return !is_constant(i) && shape(i).rank() < y_.rank(); }

  // The first inputs, which must have that rank (0: any) and the result's first axis.
  template <class Take>
  bool take_rows(const Take& take, std::size_t count, int rank) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (is_constant(i)) continue;
      if (shape(i).rank() != (rank > 0 ? rank : shape(i).rank()) || shape(i)[0] != y_[0]) return false;
      take(inputs_[i]);
    }
    return true;
  }

  template <class Take>
  bool take_broadcast(const Take& take) const {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (is_constant(i) || shape(i).rank() < y_.rank() || shape(i)[0] == 1) continue;
      if (shape(i).rank() > y_.rank() || shape(i)[0] != y_[0]) return false;
      take(inputs_[i]);
    }
    return true;
  }

  // Whether sizes show that the axis that is cut or joined is not the first one.
  bool cuts_another_axis() const {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (is_constant(i)) continue;
      Shape rest = shape(i);
      if (rest.rank() == y_.rank() ? rest.numel() == y_.numel() : (rest.erase(0), rest == y_)) return false;
    }
    return true;
  }

  // Whether row r of the gradient reads row r of dy.
  bool rows_are_moved() const {
    const Tensor dy = Tensor::empty(y_, is_half(node_.dtype) ? kFloat32 : node_.dtype);
    const Tensor dx = gradients_of_inputs(tape_, position_, dy)[0];
    if (!dx.defined() || dx.dim() == 0) return false;
    const int64_t row = dy.numel() / y_[0];
    int64_t reach = 0;
    for (int i = 1; i < dx.dim(); ++i) reach += (dx.shape()[i] - 1) * dx.strides()[i];  // none is negative
    return dx.strides()[0] == row && reach < row;
  }

  Tape& tape_;
  const TapeMemory& memory_;
  const int64_t position_;
  const Node& node_;
  const std::span<const int64_t> inputs_;
  const Shape& y_;
};

}  // namespace

bool Layers::keeps_examples_apart(Tape& tape, int64_t last, int64_t examples) {
  const TapeMemory& memory = *tape.memory_;
  PoolVector<uint8_t> has_rows;
  has_rows.resize(static_cast<std::size_t>(last) + 1, 0);
  has_rows[static_cast<std::size_t>(last)] = 1;
  for (int64_t position = last; position >= 0; --position) {
    const Node& node = memory.node(position);
    if (!has_rows[static_cast<std::size_t>(position)] || node.leaf.defined()) continue;
    if (!node.op || node.shape.rank() == 0 || node.shape[0] == 0 || node.shape[0] % examples != 0) return false;
    const auto take = [&](int64_t input) { has_rows[static_cast<std::size_t>(input)] = 1; };
    if (!RowsOf(tape, memory, position).are_kept(take)) return false;
  }
  return true;
}

}  // namespace tapegrad::detail
