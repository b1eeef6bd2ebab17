// Recording, and the one loop of backward.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>

namespace tapegrad {

namespace {

std::vector<const Op*>& registry() {
  static std::vector<const Op*>* const ops = new std::vector<const Op*>;
  return *ops;
}

constexpr std::string_view kBackward = "backward";

[[gnu::tls_model("initial-exec")]] constinit thread_local Tape* innermost = nullptr;  // one load for each operation
std::atomic<uint64_t> next_tape{1};

// Which tapes are alive, so that a tensor of another thread's tape is an error rather than a silent constant.
class LiveTapes {
 public:
  void add(uint64_t id) {
    const std::lock_guard lock(mutex_);
    ids_.push_back(id);
  }
  void remove(uint64_t id) {
    const std::lock_guard lock(mutex_);
    ids_.erase(std::find(ids_.begin(), ids_.end(), id));
  }
  bool contains(uint64_t id) {
    const std::lock_guard lock(mutex_);
    return std::find(ids_.begin(), ids_.end(), id) != ids_.end();
  }

 private:
  std::mutex mutex_;
  std::vector<uint64_t, pool::Allocator<uint64_t>> ids_;
};

LiveTapes& live_tapes() {
  static LiveTapes* const tapes = new LiveTapes;
  return *tapes;
}

bool before(const TapeIndex& a, const TapeIndex& b) {
  return a.tape != b.tape ? a.tape < b.tape : a.position < b.position;
}

}  // namespace

Op::Op(std::string_view name, bool twice) : name(name), twice(twice) { registry().push_back(this); }

const std::vector<const Op*>& Op::all() { return registry(); }

// --- Gradients ---

const Tensor* Gradients::find(const Tensor& leaf) const {
  const TapeIndex place = leaf.tape_index();
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), place,
                                      [](const Entry& entry, const TapeIndex& p) { return before(entry.place, p); });
  const bool here = found != entries_.end() && !before(place, found->place);
  return here ? &found->grad : nullptr;
}

const Tensor& Gradients::of(const Tensor& leaf, std::string_view name) const {
  if (const Tensor* grad = find(leaf)) return *grad;
  const std::string called = name.empty() ? "" : fmt::format(" \"{}\"", name);
  fail("gradients",
       leaf.is_leaf()
           ? fmt::format("the leaf{} of shape {} took no part in the loss", called, str(leaf.shape()))
           : fmt::format("the tensor of shape {} is not a leaf (ask for its gradient by BackwardOptions::keep, "
                         "or make it a leaf by as_leaf())",
                         str(leaf.shape())));
}

void Gradients::set(const Tensor& leaf, Tensor grad) {
  if (!(grad.shape() == leaf.shape())) {
    fail("gradients", fmt::format("a gradient of shape {} was given for a tensor of shape {}", str(grad.shape()),
                                  str(leaf.shape())));
  }
  const TapeIndex place = leaf.tape_index();
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), place,
                                   [](const Entry& entry, const TapeIndex& p) { return before(entry.place, p); });
  if (at != entries_.end() && !before(place, at->place)) {
    at->grad = std::move(grad);
  } else {
    entries_.insert(at, Entry{place, std::move(grad)});
  }
}

// --- the tape's memory ---

struct Tape::Node {
  Node(const Op* op, const Tensor& y) : op(op), shape(y.shape()), dtype(y.dtype()) {}

  const Op* op;  // nullptr for a leaf
  Backward backward;
  Tensor leaf;  // for a leaf, itself
  Shape shape;  // of the result
  DType dtype;
  uint32_t input_count = 0;
  int64_t first_input = 0;  // in Reel::inputs
};

struct Tape::Reel {
  static constexpr int64_t kChunk = 128;  // nodes stay where they are while more are recorded
  PoolVector<Node*> chunks;
  PoolVector<int64_t> inputs;  // positions, -1 for a constant
  PoolVector<Tensor> sums;     // gradients under way in backward, by position

  // Positions of leaves by their number: open addressing, where a slot of another tape counts as free.
  struct Slot {
    uint64_t tape = 0;
    int64_t leaf = 0;
    int64_t position = 0;
  };
  PoolVector<Slot> slots;
  std::size_t leaves = 0;
  Reel* next = nullptr;

  ~Reel() {
    for (Node* chunk : chunks) pool::release(chunk, kChunk * sizeof(Node));
  }

  Slot& slot(uint64_t tape, int64_t leaf) {
    if (2 * (leaves + 1) > slots.size()) grow(tape);
    const std::size_t mask = slots.size() - 1;
    std::size_t i = (static_cast<uint64_t>(leaf) * 0x9E3779B97F4A7C15u >> 32) & mask;
    while (slots[i].tape == tape && slots[i].leaf != leaf) i = (i + 1) & mask;
    return slots[i];
  }

 private:
  void grow(uint64_t tape) {
    PoolVector<Slot> old(std::max<std::size_t>(64, 2 * slots.size()));
    old.swap(slots);
    for (const Slot& s : old) {
      if (s.tape == tape) slot(tape, s.leaf) = s;
    }
  }
};

namespace {

// Reels that rest in this thread.
template <class Reel>
struct Shelf {
  Reel* first = nullptr;
  ~Shelf() {
    while (first) delete std::exchange(first, first->next);
  }
  static Shelf& here() {
    thread_local Shelf shelf;
    return shelf;
  }
};

}  // namespace

Tape::Tape() : outer_(innermost), id_(next_tape.fetch_add(1, std::memory_order_relaxed)) {
  Reel*& shelf = Shelf<Reel>::here().first;
  reel_ = shelf ? std::exchange(shelf, shelf->next) : new Reel;
  reel_->leaves = 0;
  live_tapes().add(id_);
  innermost = this;
}

Tape::~Tape() {
  release_all();
  live_tapes().remove(id_);
  innermost = outer_;
  Reel*& shelf = Shelf<Reel>::here().first;
  reel_->next = std::exchange(shelf, reel_);
}

Tape* Tape::current() { return innermost && innermost->recording_ && !innermost->spent_ ? innermost : nullptr; }

Tape::Node& Tape::node(int64_t position) const {
  return reel_->chunks[static_cast<std::size_t>(position / Reel::kChunk)][position % Reel::kChunk];
}

Tape::Node& Tape::push(const Op* op, const Tensor& y) {
  if (count_ == static_cast<int64_t>(reel_->chunks.size()) * Reel::kChunk) {
    reel_->chunks.push_back(static_cast<Node*>(pool::acquire(Reel::kChunk * sizeof(Node))));
  }
  Node& fresh = *new (&node(count_)) Node(op, y);
  ++count_;
  return fresh;
}

std::string_view Tape::op_name(int64_t position) const {
  if (position < 0 || position >= count_) {
    fail("tape", fmt::format("place {} was asked for, {} are recorded", position, count_));
  }
  const Op* op = node(position).op;
  return op ? op->name : "leaf";
}

// From the end: what a node kept dies before what it was computed from, and nothing recurs.
void Tape::release_all() noexcept {
  while (count_ > 0) {
    Node& last = node(--count_);
    if (last.leaf.defined()) last.leaf.storage().add_recording(-1);
    last.~Node();
  }
  reel_->inputs.clear();
  reel_->sums.clear();
}

// --- recording ---

int64_t Tape::position_of(const Tensor& x) {
  const TapeIndex& place = x.tape_index();
  if (place.tape == id_) return place.position;
  if (place.tape == 0) return -1;
  if (place.tape != TapeIndex::kLeaf) {
    for (const Tape* tape = outer_; tape; tape = tape->outer_) {
      if (tape->id_ == place.tape) return -1;
    }
    if (live_tapes().contains(place.tape)) {
      fail("tape",
           fmt::format("a tensor of shape {} was recorded on the tape of another thread (detach() it there first)",
                       str(x.shape())));
    }
    return -1;
  }
  Reel::Slot& slot = reel_->slot(id_, place.position);
  if (slot.tape != id_) {
    Node& leaf = push(nullptr, x);
    leaf.leaf = x;
    x.storage().add_recording(1);
    slot = {id_, place.position, count_ - 1};
    ++reel_->leaves;
  }
  return slot.position;
}

template <class Inputs>
Tensor Tape::enter(const Op& op, Tensor y, const Inputs& inputs, Backward&& backward) {
  Tape* const tape = current();
  if (!tape) return y;
  PoolVector<int64_t>& positions = tape->reel_->inputs;
  const std::size_t first = positions.size();
  bool connected = false;
  for (const Tensor& x : inputs) {
    const int64_t position = x.defined() ? tape->position_of(x) : -1;
    connected |= position >= 0;
    positions.push_back(position);
  }
  if (!connected) {
    positions.resize(first);
    return y;
  }
  if (y.tape_index().tape != 0) y = y.view(y.shape(), y.strides());  // one of the inputs itself: a handle of its own
  Node& node = tape->push(&op, y);
  node.backward = std::move(backward);
  node.first_input = static_cast<int64_t>(first);
  node.input_count = static_cast<uint32_t>(inputs.size());
  if (tape->trap_nan_) tape->check_finite(y, op.name, tape->count_ - 1, "value");
  y.set_tape_index({tape->id_, tape->count_ - 1});
  return y;
}

Tensor record(const Op& op, Tensor y, std::initializer_list<Input> inputs, Backward&& backward) {
  return Tape::enter(op, std::move(y), inputs, std::move(backward));
}

Tensor record(const Op& op, Tensor y, std::span<const Tensor> inputs, Backward&& backward) {
  return Tape::enter(op, std::move(y), inputs, std::move(backward));
}

bool needs_grad(const Tensor& x) {
  Tape* tape = Tape::current();
  return tape && x.defined() && tape->position_of(x) >= 0;
}

PauseRecording::PauseRecording() : tape_(innermost), before_(innermost && innermost->recording_) {
  if (tape_) tape_->recording_ = false;
}

PauseRecording::~PauseRecording() {
  if (tape_) tape_->recording_ = before_;
}

// --- backward ---

void Tape::check_finite(const Tensor& x, std::string_view op, int64_t position, std::string_view what) const {
  if (all_finite(x.detach())) return;
  std::string inputs;
  const Node* node = position < count_ ? &this->node(position) : nullptr;
  for (uint32_t i = 0; node && i < node->input_count; ++i) {
    const int64_t from = reel_->inputs[static_cast<std::size_t>(node->first_input + i)];
    inputs += fmt::format("{}{}", i == 0 ? ", inputs " : ", ", from < 0 ? "constant" : str(this->node(from).shape));
  }
  fail(op, fmt::format("the {} is not finite at place {} of the tape: shape {} {}{}", what, position, str(x.shape()),
                       tapegrad::name(x.dtype()), inputs));
}

void Tape::accumulate(const Op& op, int64_t position, Tensor grad, bool create_graph) {
  const Node& target = node(position);
  if (grad.dtype() != target.dtype) {
    op.fail(fmt::format("backward returned a {} gradient for a {} input", tapegrad::name(grad.dtype()),
                        tapegrad::name(target.dtype)));
  }
  if (!(grad.shape() == target.shape)) {
    if (!broadcasts_to(target.shape, grad.shape())) {
      op.fail(fmt::format("backward returned a gradient of shape {} for an input of shape {}", str(grad.shape()),
                          str(target.shape)));
    }
    grad = sum_to(grad, target.shape);
  }
  Tensor& sum = reel_->sums[static_cast<std::size_t>(position)];
  if (!sum.defined()) {
    sum = std::move(grad);
  } else if (!create_graph && sum.unique() && sum.is_contiguous()) {
    accumulate_into(sum, grad);
  } else {
    sum = add(sum, grad);
  }
}

Gradients Tape::backward(const Tensor& loss, const BackwardOptions& options) {
  if (spent_)
    fail(kBackward, "this tape has been run backward and holds nothing any more (start a new Tape for each step)");
  if (innermost != this) fail(kBackward, "an inner tape is still alive (end its scope first)");
  const int64_t start = position_of(loss);
  if (start < 0) fail(kBackward, "the loss was not recorded on this tape: no leaf takes part in it");
  if (!is_floating(loss.dtype())) fail(kBackward, fmt::format("the loss is {}, not floating", name(loss.dtype())));
  if (!options.grad_output.defined() && loss.numel() != 1) {
    fail(kBackward, fmt::format("the loss has shape {}, one number is needed (or give BackwardOptions::grad_output)",
                                str(loss.shape())));
  }
  if (options.grad_output.defined() && !(options.grad_output.shape() == loss.shape())) {
    fail(kBackward,
         fmt::format("grad_output has shape {}, the loss {}", str(options.grad_output.shape()), str(loss.shape())));
  }
  const bool again = options.create_graph;
  PoolVector<int64_t> kept;
  for (const Tensor& x : options.keep) {
    kept.push_back(position_of(x));
    if (kept.back() < 0)
      fail(kBackward, fmt::format("keep names a tensor of shape {} that is not on this tape", str(x.shape())));
  }
  Gradients found;
  {
    const bool before = std::exchange(recording_, again && recording_);
    // Also when a backward throws: nodes that ran are gone by then, and the tape is spent.
    struct Finish {
      Tape& tape;
      bool again, before;
      ~Finish() {
        tape.recording_ = before;
        tape.reel_->sums.clear();
        if (again) return;
        tape.release_all();
        tape.spent_ = true;
      }
    } const finish{*this, again, before};

    PoolVector<Tensor>& sums = reel_->sums;
    sums.clear();
    sums.resize(static_cast<std::size_t>(start) + 1);
    sums.back() = options.grad_output.defined() ? options.grad_output : ones(loss.shape(), loss.dtype());
    for (int64_t position = start; position >= 0; --position) {
      Node& node = this->node(position);
      const Tensor dy = std::move(sums[static_cast<std::size_t>(position)]);
      if (!dy.defined()) {
        if (!again) node.backward.reset();
        continue;
      }
      if (trap_nan_) check_finite(dy, op_name(position), position, "gradient");
      if (node.leaf.defined()) {
        found.entries_.push_back({node.leaf.tape_index(), dy});
        continue;
      }
      for (int64_t k : kept) {
        if (k == position) found.entries_.push_back({TapeIndex{id_, position}, dy});
      }
      if (again && !node.op->twice) {
        node.op->fail(
            "cannot be differentiated twice: its backward is a fused kernel (compose it of plain operations)");
      }
      Grads grads = node.backward(dy);
      if (!again) node.backward.reset();  // what it kept dies on this turn
      if (grads.size() != node.input_count) {
        node.op->fail(fmt::format("backward returned {} gradients for {} inputs", grads.size(), node.input_count));
      }
      for (std::size_t i = 0; trap_nan_ && i < grads.size(); ++i) {
        if (grads[i].defined()) check_finite(grads[i], node.op->name, position, fmt::format("gradient of input {}", i));
      }
      for (std::size_t i = 0; i < grads.size(); ++i) {
        const int64_t to = reel_->inputs[static_cast<std::size_t>(node.first_input) + i];
        if (to >= 0 && grads[i].defined()) accumulate(*node.op, to, std::move(grads[i]), again);
      }
    }
  }
  std::sort(found.entries_.begin(), found.entries_.end(),
            [](const auto& a, const auto& b) { return before(a.place, b.place); });
  return found;
}

}  // namespace tapegrad
