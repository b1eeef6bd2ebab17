// Which tape records, and how an operation gets onto it. The way back is in backward.cpp.
#include <tapegrad/autograd/detail/layers.h>
#include <tapegrad/autograd/detail/nan_trap.h>
#include <tapegrad/autograd/detail/profile.h>
#include <tapegrad/autograd/detail/tape_memory.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/tape_watch.h>
#include <tapegrad/autograd/leaf_names.h>
#include <tapegrad/autograd/tape.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace tapegrad {

using detail::Layers;

namespace {

const Op kVariable{"variable"};

// In the fixed part of the thread's memory, where every operation looks at it for the price of a load.
[[gnu::tls_model("initial-exec")]] constinit thread_local Tape* innermost = nullptr;
[[gnu::tls_model("initial-exec")]] constinit thread_local TapeWatch* watching = nullptr;

// The newest tape that existed when a thread without tapes last used a leaf. For the text of an error.
constinit std::atomic<uint64_t> used_elsewhere{0};

void note_unrecorded(const Tensor& x) {
  if (innermost || x.tape_index().tape != TapeIndex::kLeaf) return;
  const uint64_t newest = detail::newest_tape();
  if (used_elsewhere.load(std::memory_order_relaxed) != newest) used_elsewhere.store(newest, std::memory_order_relaxed);
}

}  // namespace

// --- life ---

Tape::Tape(OuterTensors outer_tensors) : Tape(outer_tensors, nullptr) {}

bool Tape::begins_layered(OuterTensors outer_tensors, const detail::Tangents* tangents) {
  if (tangents) return true;
  if (outer_tensors != OuterTensors::tangents || !current() || !current()->layered_) return false;
  if (for_backward())
    fail("tape",
         "OuterTensors::tangents expects no other tape around the jvp or in it (use grad() or jvp() in place of "
         "this tape)");
  return true;
}

Tape::Tape(OuterTensors outer_tensors, detail::Tangents* tangents)
    : layered_(begins_layered(outer_tensors, tangents)),
      thread_(&innermost),
      outer_(innermost),
      id_(detail::begin_tape() + (layered_ ? 1 : 0)),
      memory_(detail::TapeMemory::take()),
      outer_tensors_(outer_tensors),
      tangents_(tangents) {
  innermost = this;
  detail::last_leaf = {};
}

Tape::~Tape() {
  if (!on_its_thread()) {
    std::fputs("[tape] a tape ended on another thread than the one that began it\n", stderr);
    std::abort();  // that thread would go on recording on it
  }
  if (running_) {
    leave_to_backward();
  } else {
    memory_->release_nodes();
    memory_->give_back();
  }
  detail::end_tape(id_);
  for (Tape** link = &innermost; *link; link = &(*link)->outer_) {
    if (*link == this) {
      *link = outer_;
      break;
    }
  }
}

Tape* Tape::current() {
  Tape* const tape = innermost;
  return tape && tape->state_ == State::recording && tape->pauses_ == 0 ? tape : nullptr;
}

Tape* Tape::for_backward() { return Layers::tape_of(current()); }

PauseRecording::PauseRecording() : newest_(innermost ? innermost->id_ : 0) {
  for (Tape* tape = innermost; tape; tape = tape->outer_) ++tape->pauses_;
}

PauseRecording::~PauseRecording() {
  for (Tape* tape = innermost; tape; tape = tape->outer_) {
    if (tape->id_ <= newest_) --tape->pauses_;  // later ones it has not paused
  }
}

int64_t Tape::size() const { return memory_->size(); }

void Tape::require_position(int64_t position) const {
  require(position >= 0 && position < size(), "tape", "expected a position below {}, got {}", size(), position);
}

std::string_view Tape::op_name(int64_t position) const {
  require_position(position);
  const Op* op = memory_->node(position).op;
  return op ? op->name : "leaf";
}

const Shape& Tape::shape_of(int64_t position) const {
  require_position(position);
  return memory_->node(position).shape;
}

std::span<const int64_t> Tape::inputs_of(int64_t position) const {
  require_position(position);
  return memory_->inputs_of(memory_->node(position));
}

std::vector<Tensor> Tape::leaves() const {
  std::vector<Tensor> found;
  for (int64_t i = 0; i < size(); ++i) {
    if (memory_->node(i).leaf.defined()) found.push_back(memory_->node(i).leaf);
  }
  return found;
}

PoolVector<Tensor> Tape::leaves_of(const Tensor& loss) {
  require_differentiable(loss, {});
  PoolVector<Tensor> found;
  PoolVector<bool> reached(static_cast<std::size_t>(position_of(loss)) + 1);
  reached.back() = true;
  for (std::size_t position = reached.size(); position-- > 0;) {
    if (!reached[position]) continue;
    const detail::Node& node = memory_->node(static_cast<int64_t>(position));
    if (node.leaf.defined()) found.push_back(node.leaf);
    for (const int64_t from : memory_->inputs_of(node))
      if (from >= 0) reached[static_cast<std::size_t>(from)] = true;
  }
  std::reverse(found.begin(), found.end());
  return found;
}

bool Tape::on_its_thread() const { return &innermost == thread_; }

bool Tape::reads_anything() const { return memory_->first_reader != detail::TapeMemory::kNone; }

// --- positions ---

int64_t Tape::position_of(const Tensor& x) {
  const TapeIndex& index = x.tape_index();
  if (index.tape == id_) return index.position;
  if (index.tape == 0) return -1;
  if (index.tape == TapeIndex::kLeaf) return enter_leaf(x);
  if (index.tape == TapeIndex::kFrozenLeaf) {
    hold_frozen(x);
    return -1;
  }
  for (const Tape* tape = outer_; tape; tape = tape->outer_) {
    if (tape->id_ == index.tape) return outer_tensors_ == OuterTensors::leaves ? enter_leaf(x) : -1;
  }
  if (Layers::is_inner(index.tape, thread_)) return -1;
  require(!detail::is_alive(index.tape), "tape",
          "a tensor of shape {} was recorded on the tape of another thread (detach() it there first)", x.shape());
  fail("tape",
       "a tensor of shape {} was computed on a tape that has ended, and no gradient can flow to what it was computed "
       "from (detach() makes it a constant)",
       x.shape());
}

int64_t Tape::enter_leaf(const Tensor& x) {
  if (tangents_) return -1;
  detail::LeafIndex::Entry& entry = memory_->leaves.find(id_, x.tape_index());
  if (entry.tape != id_) {
    x.begin_recording();
    memory_->push(nullptr, x).leaf = x;
    entry = {id_, x.tape_index(), size() - 1};
    memory_->leaves.added();
  }
  return entry.position;
}

// What has kept the loss off this tape.
void Tape::fail_unrecorded() const {
  const std::string why =
      pauses_ > 0  ? "recording is paused (end the PauseRecording before the forward pass)"
      : size() > 0 ? fmt::format(
                         "no leaf takes part in it, while {} operations and leaves were recorded (does it pass through "
                         "detach(), item(), or a function without a gradient, as argmax?)",
                         size())
      : memory_->frozen.size() > 0 ? "every parameter that was used is frozen"
      : used_elsewhere.load(std::memory_order_relaxed) >= id_
          ? "no leaf takes part in it, but one was used on another thread (a tape records the thread that began it)"
          : "nothing was recorded since the tape began (begin it before the forward pass, whose parameters are leaves)";
  fail("backward", "the loss was not recorded on this tape: " + why);
}

// A frozen leaf must not be written to while closures may hold it.
void Tape::hold_frozen(const Tensor& x) {
  if (tangents_) return;
  detail::LeafIndex::Entry& entry = memory_->leaves.find(id_, x.tape_index());
  if (entry.tape == id_) return;
  x.begin_recording();
  memory_->frozen.push_back(x);
  entry = {id_, x.tape_index(), -1};
  memory_->leaves.added();
}

// --- recording ---

template <class Inputs>
Tensor Layers::push(Tape& tape, const Op& op, Tensor y, const Inputs& inputs, Backward&& backward, Reads reads) {
  detail::TapeMemory& memory = *tape.memory_;
  const std::size_t first = memory.inputs.size();
  bool connected = false;
  for (const Tensor& x : inputs) {
    const int64_t position = x.defined() ? tape.position_of(x) : -1;
    connected |= position >= 0;
    memory.inputs.push_back(position);
  }
  if (!connected) {
    memory.inputs.resize(first);
    return y;
  }
  if (y.tape_index().tape != 0) y = y.view(y.shape(), y.strides());  // y is an input: make a new handle
  if (!backward) op.fail(kNoBackward);
  detail::Node& node = memory.push(&op, y);
  node.backward = std::move(backward);
  node.first_input = static_cast<int64_t>(first);
  node.input_count = static_cast<uint32_t>(inputs.size());
  if (reads == Reads::anything) memory.first_reader = std::min(memory.first_reader, memory.size() - 1);
  if (tape.trap_nan_) detail::require_finite_result(memory, op, y, PoolVector<Input>(inputs.begin(), inputs.end()));
  y.set_tape_index({tape.id_, memory.size() - 1});
  if (watching && &watching->tape() == &tape) [[unlikely]]
    watching->recorded(y, std::vector<Tensor>(inputs.begin(), inputs.end()));
  return y;
}

template Tensor Layers::push(Tape&, const Op&, Tensor, const std::span<const Tensor>&, Backward&&, Reads);

template <class Inputs>
Tensor Layers::record_on(Tape* tape, const Op& op, Tensor y, const Inputs& inputs, Backward&& backward, Reads reads) {
  if (!tape) {
    for (const Tensor& x : inputs)
      if (x.defined()) note_unrecorded(x);
    return y;
  }
  if (tape->layered_) [[unlikely]]
    return record(*tape, op, std::move(y), inputs, std::move(backward), reads);
  return push(*tape, op, std::move(y), inputs, std::move(backward), reads);
}

bool Layers::differentiates(Tape& tape, const Tensor& x) {
  if (tape.layered_) [[unlikely]]
    return any_differentiates(tape, x);
  return tape.position_of(x) >= 0;
}

Tensor record(const Op& op, Tensor y, std::initializer_list<Input> inputs, Backward&& backward, Reads reads) {
  if (detail::is_profiling()) [[unlikely]]
    detail::note_call(op, y, {inputs.begin(), inputs.size()});
  return Layers::record_on(Tape::current(), op, std::move(y), inputs, std::move(backward), reads);
}

Tensor record(const Op& op, Tensor y, std::span<const Tensor> inputs, Backward&& backward, Reads reads) {
  if (detail::is_profiling()) [[unlikely]]
    detail::note_call(op, y, PoolVector<Input>(inputs.begin(), inputs.end()));
  return Layers::record_on(Tape::current(), op, std::move(y), inputs, std::move(backward), reads);
}

Tensor record(const Op& op, Tensor y, std::initializer_list<Input> inputs, Backward&& backward) {
  return record(op, std::move(y), inputs, std::move(backward), Reads::inputs);
}

Tensor record(const Op& op, Tensor y, std::span<const Tensor> inputs, Backward&& backward) {
  return record(op, std::move(y), inputs, std::move(backward), Reads::inputs);
}

Tensor Tape::variable(const Tensor& x) {
  if (!current()) kVariable.fail("expected a tape that records, got none");
  if (!is_floating(x.dtype())) fail(kVariable, "expected float32 or float64, got {}", x.dtype());
  const Tensor y = x.view(x.shape(), x.strides());
  if (Tape* const tape = for_backward()) {
    const int64_t from = tape->position_of(x);
    detail::TapeMemory& memory = *tape->memory_;
    detail::Node& node = memory.push(&kVariable, y);
    node.backward = [](const Tensor& dy) -> Grads { return dy; };
    node.first_input = static_cast<int64_t>(memory.inputs.size());
    node.input_count = 1;
    memory.inputs.push_back(from);
    y.set_tape_index({tape->id_, memory.size() - 1});
  }
  if (current()->layered_) Layers::copy_tangents(x, y);
  return y;
}

TapeWatch::TapeWatch(const Tape& tape) : tape_(tape), outer_(std::exchange(watching, this)) {}
TapeWatch::~TapeWatch() { watching = outer_; }
TapeWatch* TapeWatch::current() { return watching; }

bool needs_grad(const Tensor& x) {
  Tape* tape = Tape::current();
  if (!tape && x.defined()) note_unrecorded(x);
  return tape && x.defined() && Layers::differentiates(*tape, x);
}

}  // namespace tapegrad
