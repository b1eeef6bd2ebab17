// Which tape records, how an operation gets onto it, and the one loop of backward.
#include <fmt/format.h>
#include <tapegrad/autograd/autocast.h>
#include <tapegrad/autograd/detail/leaf_gradients.h>
#include <tapegrad/autograd/detail/profile.h>
#include <tapegrad/autograd/detail/running_backward.h>
#include <tapegrad/autograd/detail/tape_memory.h>
#include <tapegrad/autograd/leaf_names.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/elementwise/detail/select.h>
#include <tapegrad/autograd/tape.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

namespace tapegrad {

namespace {

constexpr std::string_view kBackward = "backward";
const Op kVariable{"variable"};

// In TapeMemory::needed.
constexpr uint8_t kWanted = 1;  // its gradient is requested
constexpr uint8_t kLeads = 2;   // an input of it is wanted, or leads to one that is

// ", near "encoder.norm.gamma"": the first leaf with a name among the inputs of a node, their inputs, and so on.
std::string nearest_name(const detail::TapeMemory& memory, int64_t position) {
  std::vector<int64_t> reached{position};
  std::vector<bool> seen(static_cast<std::size_t>(position) + 1);
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const detail::Node& node = memory.node(reached[i]);
    if (node.leaf.defined()) {
      const std::string name = detail::leaf_name(node.leaf.tape_index());
      if (!name.empty()) return fmt::format(", near \"{}\"", name);
    }
    for (uint32_t k = 0; k < node.input_count; ++k) {
      const int64_t from = memory.inputs[static_cast<std::size_t>(node.first_input + k)];
      if (from < 0 || seen[static_cast<std::size_t>(from)]) continue;
      seen[static_cast<std::size_t>(from)] = true;
      reached.push_back(from);
    }
  }
  return {};
}

// A gradient that is a leaf's own handle would change with the leaf's next update: another handle keeps the values.
Tensor constant_value(Tensor grad, bool create_graph) {
  if (!grad.is_leaf()) return grad;
  return create_graph && !grad.is_frozen() ? Tape::variable(grad) : grad.detach();
}

// In the fixed part of the thread's memory, where every operation looks at it for the price of a load.
[[gnu::tls_model("initial-exec")]] constinit thread_local Tape* innermost = nullptr;

constinit thread_local bool retained = false;  // whether the current backward retains its nodes
constinit thread_local PoolVector<Tensor>* sums_of_backward = nullptr;  // while the node below runs
constinit thread_local std::span<const int64_t> inputs_of_node;
constinit thread_local detail::TakeLeafGradients* taking = nullptr;  // for the next backward

}  // namespace

detail::TakeLeafGradients::TakeLeafGradients() { taking = this; }
detail::TakeLeafGradients::~TakeLeafGradients() {
  if (taking == this) taking = nullptr;
}

bool detail::graph_is_retained() { return retained; }

Tensor* detail::gradient_so_far(std::size_t input) {
  if (!sums_of_backward) return nullptr;
  Tensor& sum = (*sums_of_backward)[static_cast<std::size_t>(inputs_of_node[input])];
  return sum.defined() && sum.unique() && sum.is_contiguous() ? &sum : nullptr;
}

// --- life ---

Tape::Tape(OuterTensors outer_tensors)
    : thread_(&innermost),
      outer_(innermost),
      id_(detail::begin_tape()),
      memory_(detail::TapeMemory::take()),
      outer_tensors_(outer_tensors) {
  innermost = this;
}

// One run of backward, and what it undoes however it ends: nodes that ran are gone by then, and the tape is spent.
class Tape::BackwardScope {
 public:
  BackwardScope(Tape& tape, bool retain)
      : tape_(&tape), memory_(*tape.memory_), retain_(retain), retained_outside_(std::exchange(retained, retain)) {
    tape.running_ = this;
  }
  ~BackwardScope() {
    retained = retained_outside_;
    memory_.sums.clear();
    memory_.needed.clear();
    if (!retain_ || !tape_) memory_.release_nodes();
    if (!tape_) {
      memory_.give_back();
      return;
    }
    tape_->running_ = nullptr;
    tape_->state_ = retain_ ? State::recording : State::spent;
  }
  BackwardScope(const BackwardScope&) = delete;
  BackwardScope& operator=(const BackwardScope&) = delete;
  // The tape is destroyed by a function that one of its nodes calls: the node must stay until that has returned.
  void outlive_tape() { tape_ = nullptr; }
  void require_tape() const {
    if (!tape_) fail(kBackward, "the tape was destroyed by a function that its backward called (end it afterwards)");
  }

 private:
  Tape* tape_;
  detail::TapeMemory& memory_;
  const bool retain_, retained_outside_;
};

Tape::~Tape() {
  if (&innermost != thread_) {
    std::fputs("[tape] a tape ended on another thread than the one that began it\n", stderr);
    std::abort();  // that thread would go on recording on it
  }
  if (running_) {
    running_->outlive_tape();
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
  if (position < 0 || position >= size()) {
    fail("tape", fmt::format("expected a position below {}, got {}", size(), position));
  }
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
  const detail::Node& node = memory_->node(position);
  return {memory_->inputs.data() + node.first_input, node.input_count};
}

std::vector<Tensor> Tape::leaves() const {
  std::vector<Tensor> found;
  for (int64_t i = 0; i < size(); ++i) {
    if (memory_->node(i).leaf.defined()) found.push_back(memory_->node(i).leaf);
  }
  return found;
}

std::vector<Tensor> Tape::leaves_of(const Tensor& loss) {
  require_differentiable(loss, {});
  std::vector<Tensor> found;
  std::vector<bool> reached(static_cast<std::size_t>(position_of(loss)) + 1);
  reached.back() = true;
  for (std::size_t position = reached.size(); position-- > 0;) {
    if (!reached[position]) continue;
    const detail::Node& node = memory_->node(static_cast<int64_t>(position));
    if (node.leaf.defined()) found.push_back(node.leaf);
    for (uint32_t i = 0; i < node.input_count; ++i) {
      const int64_t from = memory_->inputs[static_cast<std::size_t>(node.first_input) + i];
      if (from >= 0) reached[static_cast<std::size_t>(from)] = true;
    }
  }
  std::reverse(found.begin(), found.end());
  return found;
}

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
  if (detail::is_alive(index.tape)) {
    fail("tape",
         fmt::format("a tensor of shape {} was recorded on the tape of another thread (detach() it there first)",
                     str(x.shape())));
  }
  return -1;
}

int64_t Tape::enter_leaf(const Tensor& x) {
  detail::LeafIndex::Entry& entry = memory_->leaves.find(id_, x.tape_index());
  if (entry.tape != id_) {
    x.begin_recording();
    memory_->push(nullptr, x).leaf = x;
    entry = {id_, x.tape_index(), size() - 1};
    memory_->leaves.added();
  }
  return entry.position;
}

// A frozen leaf must not be written to while closures may hold it.
void Tape::hold_frozen(const Tensor& x) {
  detail::LeafIndex::Entry& entry = memory_->leaves.find(id_, x.tape_index());
  if (entry.tape == id_) return;
  x.begin_recording();
  memory_->frozen.push_back(x);
  entry = {id_, x.tape_index(), -1};
  memory_->leaves.added();
}

// --- recording ---

// Whether what is not finite in y is the -inf of a mask: put there on purpose, or passed on from an input.
template <class Inputs>
bool has_only_masks(const Op& op, const Tensor& y, const Inputs& inputs) {
  const auto infinite = [](const Tensor& x) { return x.defined() && !all_finite(x.detach()); };
  if (!selects(op) && std::none_of(inputs.begin(), inputs.end(), infinite)) return false;
  return amax(y.detach()).item() < std::numeric_limits<double>::infinity();  // false for NaN
}

// A friend of Tape.
template <class Inputs>
Tensor record_on(Tape* tape, const Op& op, Tensor y, const Inputs& inputs, Backward&& backward, Reads reads) {
  if (!tape) return y;
  detail::TapeMemory& memory = *tape->memory_;
  const std::size_t first = memory.inputs.size();
  bool connected = false;
  for (const Tensor& x : inputs) {
    const int64_t position = x.defined() ? tape->position_of(x) : -1;
    connected |= position >= 0;
    memory.inputs.push_back(position);
  }
  if (!connected) {
    memory.inputs.resize(first);
    return y;
  }
  if (y.tape_index().tape != 0) y = y.view(y.shape(), y.strides());  // y is an input: make a new handle
  if (!backward) op.fail("recorded without a backward: expected a function of dy, got an empty one");
  detail::Node& node = memory.push(&op, y);
  node.backward = std::move(backward);
  node.first_input = static_cast<int64_t>(first);
  node.input_count = static_cast<uint32_t>(inputs.size());
  if (reads == Reads::anything) memory.first_reader = std::min(memory.first_reader, memory.size() - 1);
  if (tape->trap_nan_ && !has_only_masks(op, y, inputs)) tape->check_finite(y, op.name, memory.size() - 1, "value");
  y.set_tape_index({tape->id_, memory.size() - 1});
  return y;
}

Tensor record(const Op& op, Tensor y, std::initializer_list<Input> inputs, Backward&& backward, Reads reads) {
  if (detail::is_profiling()) [[unlikely]]
    detail::note_call(op, y, {inputs.begin(), inputs.size()});
  return record_on(Tape::current(), op, std::move(y), inputs, std::move(backward), reads);
}

Tensor record(const Op& op, Tensor y, std::span<const Tensor> inputs, Backward&& backward, Reads reads) {
  if (detail::is_profiling()) [[unlikely]]
    detail::note_call(op, y, PoolVector<Input>(inputs.begin(), inputs.end()));
  return record_on(Tape::current(), op, std::move(y), inputs, std::move(backward), reads);
}

Tensor record(const Op& op, Tensor y, std::initializer_list<Input> inputs, Backward&& backward) {
  return record(op, std::move(y), inputs, std::move(backward), Reads::inputs);
}

Tensor record(const Op& op, Tensor y, std::span<const Tensor> inputs, Backward&& backward) {
  return record(op, std::move(y), inputs, std::move(backward), Reads::inputs);
}

Tensor Tape::variable(const Tensor& x) {
  Tape* const tape = current();
  if (!tape) kVariable.fail("expected a tape that records, got none");
  if (!is_floating(x.dtype())) kVariable.fail(fmt::format("expected float32 or float64, got {}", name(x.dtype())));
  const int64_t from = tape->position_of(x);
  const Tensor y = x.view(x.shape(), x.strides());
  detail::TapeMemory& memory = *tape->memory_;
  detail::Node& node = memory.push(&kVariable, y);
  node.backward = [](const Tensor& dy) -> Grads { return dy; };
  node.first_input = static_cast<int64_t>(memory.inputs.size());
  node.input_count = 1;
  memory.inputs.push_back(from);
  y.set_tape_index({tape->id_, memory.size() - 1});
  return y;
}

bool needs_grad(const Tensor& x) {
  Tape* tape = Tape::current();
  return tape && x.defined() && tape->position_of(x) >= 0;
}

// --- backward ---

Gradients Tape::backward(const Tensor& loss, const BackwardOptions& options) {
  require_differentiable(loss, options);
  detail::TakeLeafGradients* const taker = std::exchange(taking, nullptr);  // backwards inside this one are not its
  const detail::BackwardTimer timer(*memory_, position_of(loss));
  const bool create_graph = options.create_graph;
  const bool retain = create_graph || options.retain_graph;
  const int64_t start = position_of(loss);
  PoolVector<int64_t> kept;
  for (const std::vector<Tensor>* wanted : {&options.keep, &options.only}) {
    for (const Tensor& x : *wanted) kept.push_back(position_of(x));
  }

  const Autocast as_recorded(kFloat32);  // each operation's backward computes in the type of its forward
  const BackwardScope scope(*this, retain);
  if (!create_graph) state_ = State::running_backward;  // records nothing

  const int64_t last = options.only.empty() ? 0 : mark_needed(start, options.only);
  PoolVector<Tensor>& sums = memory_->sums;  // dL/d(result of the node), by position
  sums.clear();
  sums.resize(static_cast<std::size_t>(start) + 1);
  sums.back() = options.grad_output.defined() ? constant_value(options.grad_output, create_graph)
                                              : ones(loss.shape(), loss.dtype());
  Gradients::Entries found;
  for (int64_t position = start; position >= last; --position) {
    detail::Node& node = memory_->node(position);
    const Tensor dy = std::move(sums[static_cast<std::size_t>(position)]);
    if (dy.defined()) {
      if (trap_nan_) check_finite(dy, op_name(position), position, "gradient");
      if (node.leaf.defined()) {
        TapeIndex place = node.leaf.tape_index();
        if (place.tape == TapeIndex::kFrozenLeaf) place.tape = TapeIndex::kLeaf;  // frozen after it was recorded
        if (taker) {
          if (!retain) memory_->release_leaf(position);  // all that has it as an input is gone
          taker->take(place, dy);
        } else {
          found.push_back({place, dy});  // with `only`, no other leaf gets here
        }
      } else {
        const bool keep = std::find(kept.begin(), kept.end(), position) != kept.end();
        if (keep) found.push_back({TapeIndex{id_, position}, dy});
        if (!memory_->needed.empty() && !(memory_->needed[static_cast<std::size_t>(position)] & kLeads)) continue;
        run_node(position, dy, create_graph, retain);
      }
    }
    if (!retain) node.backward.reset();  // frees what it captured
    if (taker) taker->ran_node(position <= memory_->first_reader);
  }
  return Gradients(std::move(found));
}

void Tape::require_differentiable(const Tensor& loss, const BackwardOptions& options) {
  if (running_) fail(kBackward, "this tape is running backward (an operation's backward must not start it again)");
  if (options.create_graph && pauses_ > 0) {
    fail(kBackward, "create_graph records backward, but recording is paused (end the PauseRecording first)");
  }
  if (state_ != State::recording) {
    fail(kBackward, "this tape has been run backward and holds nothing any more (start a new Tape for each step)");
  }
  if (&innermost != thread_)
    fail(kBackward, "expected the thread that began this tape, got another one (a tape belongs to its thread)");
  if (innermost != this) fail(kBackward, "an inner tape is still alive (end its scope first)");
  if (position_of(loss) < 0) fail(kBackward, "the loss was not recorded on this tape: no leaf takes part in it");
  if (!is_floating(loss.dtype())) fail(kBackward, fmt::format("the loss is {}, not floating", name(loss.dtype())));
  const Tensor& dy = options.grad_output;
  if (!dy.defined() && loss.numel() != 1) {
    fail(kBackward, fmt::format("expected a loss of one element, got shape {} (or give BackwardOptions::grad_output)",
                                str(loss.shape())));
  }
  if (dy.defined() && (!(dy.shape() == loss.shape()) || dy.dtype() != loss.dtype())) {
    fail(kBackward, fmt::format("expected a grad_output of the loss's {} {}, got {} {}", name(loss.dtype()),
                                str(loss.shape()), name(dy.dtype()), str(dy.shape())));
  }
  for (const auto& [tensors, what] : {std::pair{&options.keep, "keep"}, {&options.only, "only"}}) {
    for (const Tensor& x : *tensors) {
      if (position_of(x) < 0) {
        fail(kBackward, fmt::format("expected tensors of this tape in {}, got one of shape {} that is not on it", what,
                                    str(x.shape())));
      }
    }
  }
}

// Marks the nodes up to `start` that are in `only` or lead to a node in it. Returns the first of them.
int64_t Tape::mark_needed(int64_t start, const std::vector<Tensor>& only) {
  PoolVector<uint8_t>& needed = memory_->needed;
  needed.clear();
  needed.resize(static_cast<std::size_t>(start) + 1, 0);
  int64_t first = start + 1;
  for (const Tensor& x : only) {
    const int64_t position = position_of(x);
    if (position > start) continue;  // later than the loss
    needed[static_cast<std::size_t>(position)] = kWanted;
    first = std::min(first, position);
  }
  for (int64_t position = first; position <= start; ++position) {
    const detail::Node& node = memory_->node(position);
    for (uint32_t i = 0; i < node.input_count; ++i) {
      const int64_t from = memory_->inputs[static_cast<std::size_t>(node.first_input) + i];
      if (from >= first && needed[static_cast<std::size_t>(from)]) needed[static_cast<std::size_t>(position)] |= kLeads;
    }
  }
  return first;
}

void Tape::run_node(int64_t position, const Tensor& dy, bool create_graph, bool retain) {
  detail::Node& node = memory_->node(position);
  const Op& op = *node.op;
  if (create_graph && !op.twice) {
    op.fail("cannot be differentiated twice: its backward is a fused kernel (compose it of plain operations)");
  }
  const BackwardScope& scope = *running_;
  const detail::NodeTimer timer(op, position);
  Grads grads = [&] {
    struct Running {  // a backward may run another one
      PoolVector<Tensor>* const sums = sums_of_backward;
      const std::span<const int64_t> inputs = inputs_of_node;
      ~Running() {
        sums_of_backward = sums;
        inputs_of_node = inputs;
      }
    } const outer;
    sums_of_backward = create_graph || trap_nan_ || !memory_->needed.empty() ? nullptr : &memory_->sums;
    inputs_of_node = {memory_->inputs.data() + node.first_input, node.input_count};
    return node.backward(dy);
  }();
  scope.require_tape();
  timer.note(dy, grads);
  if (!retain) node.backward.reset();  // before the gradients are summed
  if (grads.size() != node.input_count) {
    op.fail(fmt::format("backward returned {} gradients for {} inputs", grads.size(), node.input_count));
  }
  for (std::size_t i = 0; trap_nan_ && i < grads.size(); ++i) {
    if (grads[i].defined()) check_finite(grads[i], op.name, position, fmt::format("gradient of input {}", i));
  }
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const int64_t to = memory_->inputs[static_cast<std::size_t>(node.first_input) + i];
    if (to < 0 || !grads[i].defined()) continue;
    if (!memory_->needed.empty() && !memory_->needed[static_cast<std::size_t>(to)]) continue;
    accumulate(op, to, std::move(grads[i]), create_graph);
  }
}

// Adds to the gradient of the node at `position`. Broadcasting is undone here, once for all operations.
void Tape::accumulate(const Op& op, int64_t position, Tensor grad, bool create_graph) {
  const detail::Node& target = memory_->node(position);
  if (grad.dtype() != (target.dtype == kBFloat16 ? kFloat32 : target.dtype)) {
    op.fail(fmt::format("backward returned a {} gradient for a {} input", name(grad.dtype()), name(target.dtype)));
  }
  if (!(grad.shape() == target.shape)) {
    if (!broadcasts_to(target.shape, grad.shape())) {
      op.fail(fmt::format("backward returned a gradient of shape {} for an input of shape {}", str(grad.shape()),
                          str(target.shape)));
    }
    grad = sum_to(grad, target.shape);
  }
  Tensor& sum = memory_->sums[static_cast<std::size_t>(position)];
  if (!sum.defined()) {
    sum = grad.is_leaf() ? constant_value(std::move(grad), create_graph) : std::move(grad);  // the first one is adopted
  } else if (!create_graph && sum.unique() && sum.is_contiguous()) {
    accumulate_into(sum, grad);
  } else {
    sum = add(sum, grad);
  }
}

void Tape::check_finite(const Tensor& x, std::string_view op, int64_t position, std::string_view what) const {
  if (all_finite(x.detach())) return;
  std::string inputs;
  const detail::Node& node = memory_->node(position);
  for (uint32_t i = 0; i < node.input_count; ++i) {
    const int64_t from = memory_->inputs[static_cast<std::size_t>(node.first_input + i)];
    inputs += fmt::format("{}{}", i == 0 ? ", inputs " : ", ", from < 0 ? "constant" : str(memory_->node(from).shape));
  }
  fail(op, fmt::format("the {} is not finite at position {} of the tape: shape {} {}{}{}", what, position,
                       str(x.shape()), name(x.dtype()), inputs, nearest_name(*memory_, position)));
}

}  // namespace tapegrad
