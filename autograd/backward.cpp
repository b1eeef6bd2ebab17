// Tape::backward: one loop from the loss to the first node.
#include <tapegrad/autograd/autocast.h>
#include <tapegrad/autograd/detail/layers.h>
#include <tapegrad/autograd/detail/nan_trap.h>
#include <tapegrad/autograd/detail/per_example.h>
#include <tapegrad/autograd/detail/profile.h>
#include <tapegrad/autograd/detail/row_sums.h>
#include <tapegrad/autograd/detail/tape_memory.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/leaf_names.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>

namespace tapegrad {

using detail::Layers;

namespace {

constexpr std::string_view kBackward = "backward";

// In TapeMemory::needed.
constexpr uint8_t kWanted = 1;  // its gradient is requested
constexpr uint8_t kLeads = 2;   // an input of it is wanted, or leads to one that is

void require_per_example(const Tensor& losses, const BackwardOptions& options) {
  require(losses.dim() == 1, kBackward, "per_example expects one loss per example, [B], got shape {}", losses.shape());
  require(!options.create_graph && !options.sink, kBackward, "per_example cannot be combined with {}",
          options.create_graph ? "create_graph" : "a sink");
  for (const std::vector<Tensor>* wanted : {&options.keep, &options.only}) {
    for (const Tensor& x : *wanted) {
      require(x.is_leaf(), kBackward, "per_example expects leaves in keep and only, got a recorded tensor of shape {}",
              x.shape());
    }
  }
}

// 0 for fewer than two losses, which need no forms of their own.
int64_t examples_in(const Shape& losses) { return losses[0] > 1 ? losses[0] : 0; }

// Whether sizes do not show the axis of the examples: another axis than the first has as many elements, as if time came
// first. Also of results of one leaf: an operation may have ids that are no inputs.
bool examples_are_unclear(const detail::TapeMemory& memory, int64_t last) {
  const int64_t examples = examples_in(memory.node(last).shape);
  for (int64_t position = 0; position <= last && examples > 0; ++position) {
    const detail::Node& node = memory.node(position);
    if (!node.leaf.defined() && node.shape.rank() > 1 &&
        std::find(node.shape.begin() + 1, node.shape.end(), examples) != node.shape.end())
      return true;
  }
  return false;
}

}  // namespace

void Layers::require_count(const Op& op, const Grads& grads, std::size_t inputs) {
  if (grads.size() != inputs) fail(op, "backward returned {} gradients for {} inputs", grads.size(), inputs);
}

// One run of backward. However it ends, it undoes what it has begun: nodes that ran are gone by then, and the tape is
// spent.
class Tape::BackwardRun : NonCopyable {
 public:
  BackwardRun(Tape& tape, const Tensor& loss, const BackwardOptions& options);
  ~BackwardRun();

  int64_t last() const { return last_; }
  int64_t first() const { return first_; }
  Tensor take_gradient(int64_t position);
  void give(int64_t position, const Tensor& dy, RowGradient rows = {});
  RowGradient take_rows(int64_t position) { return rows_.empty() ? RowGradient() : rows_.take(position); }
  void propagate(int64_t position, const Tensor& dy);
  void end_node(int64_t position);
  Gradients gradients();
  // The tape is destroyed by a function that one of its nodes calls: the node must stay until that has returned.
  void outlive_tape() {
    tape_ = nullptr;
    if (outer_) outer_->outlive_tape();
  }

 private:
  BackwardRun(Tape& tape, int64_t last, const BackwardOptions& options);
  void mark_needed();
  void require_tape() const;
  bool is_needed(int64_t position, uint8_t why) const {
    return memory_.needed.empty() ||
           (position >= first_ && (memory_.needed[static_cast<std::size_t>(position - first_)] & why) != 0);
  }
  Tensor& sum_of(int64_t position) const { return memory_.sums[static_cast<std::size_t>(position - first_)]; }
  Tensor constant_value(Tensor grad) const;
  Grads run_node(int64_t position, const Tensor& dy);
  Grads run_node_per_example(int64_t position, const Tensor& dy);
  Grads call(detail::Node& node, const Tensor& dy, BackwardPass& pass, int64_t position);
  BackwardPass pass_of(const detail::Node& node) const;
  void accumulate(const Op& op, int64_t position, Tensor grad);
  void accumulate_rows(const Op& op, int64_t position);

  Tape* tape_;
  detail::TapeMemory& memory_;
  BackwardRun* const outer_;  // the run that this one is nested in, by a forward pass
  const BackwardOptions& options_;
  const bool create_graph_;  // also if a jvp differentiates the gradients
  const bool retain_;
  const int64_t examples_;  // not 0: per example (autograd/detail/per_example.h); one example needs no such form
  const int64_t last_;
  int64_t first_ = 0;
  PoolVector<int64_t> kept_;  // of BackwardOptions::keep and only
  Gradients::Entries found_;
  Gradients::SparseEntries found_rows_;
  detail::RowSums rows_;
  const detail::BackwardTimer timer_;
  const Autocast as_recorded_{kFloat32};  // each operation's backward computes in the type of its forward
};

Gradients Layers::run_backward(Tape& tape, const Tensor& loss, const BackwardOptions& options) {
  Tape::BackwardRun run(tape, loss, options);
  for (int64_t position = run.last(); position >= run.first(); --position) {
    // Complete: the operations that used this result are later on the tape, and have run.
    const Tensor dy = run.take_gradient(position);
    if (dy.defined()) {
      run.give(position, dy);       // to the caller: of a leaf, or of a tensor in BackwardOptions::keep
      run.propagate(position, dy);  // to the inputs
    } else if (RowGradient rows = run.take_rows(position); rows.defined()) {
      run.give(position, dy, std::move(rows));
    }
    run.end_node(position);
  }
  return run.gradients();
}

Gradients Tape::backward(const Tensor& loss, const BackwardOptions& options) {
  require_differentiable(loss, options);
  const int64_t last = position_of(loss);
  if (!options.per_example || !examples_are_unclear(*memory_, last) ||
      Layers::keeps_examples_apart(*this, last, loss.numel()))
    return Layers::run_backward(*this, loss, options);
  const Tensor scales = detail::powers_of_two(loss.numel(), loss.dtype());
  BackwardOptions first = options;
  first.retain_graph = true;
  first.grad_output = scales;
  if (options.grad_output.defined()) {
    const PauseRecording pause;
    first.grad_output = options.grad_output * scales;
  }
  const Gradients scaled = Layers::run_backward(*this, loss, first);
  Gradients grads = Layers::run_backward(*this, loss, options);
  detail::require_separate(kBackward, grads, scaled, scales);
  return grads;
}

Grads detail::gradients_of_inputs(Tape& tape, int64_t position, const Tensor& dy) {
  tape.require_position(position);
  Node& node = tape.memory_->node(position);
  if (!node.op) return {};
  const PauseRecording pause;
  const std::span<const int64_t> inputs = tape.memory_->inputs_of(node);
  Grads grads = node.backward(dy, {.retained = true, .sums = {}, .positions = inputs});
  Layers::require_count(*node.op, grads, node.input_count);
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (inputs[i] < 0) grads[i] = Tensor();
    if (grads[i].defined()) grads[i] = sum_to(grads[i], tape.memory_->node(inputs[i]).shape);
  }
  return grads;
}

// --- beginning and end of a run ---

Tape::BackwardRun::BackwardRun(Tape& tape, int64_t last, const BackwardOptions& options)
    : tape_(&tape),
      memory_(*tape.memory_),
      outer_(tape.running_),
      options_(options),
      create_graph_(options.create_graph || tape.layered_),
      retain_(create_graph_ || options.retain_graph),
      examples_(options.per_example ? examples_in(memory_.node(last).shape) : 0),
      last_(last),
      timer_(memory_, last) {
  tape.running_ = this;
  if (!create_graph_) tape.state_ = State::running_backward;  // records nothing
  detail::last_leaf = {};                                     // of the forward pass
}

Tape::BackwardRun::BackwardRun(Tape& tape, const Tensor& loss, const BackwardOptions& options)
    : BackwardRun(tape, tape.position_of(loss), options) {
  for (const std::vector<Tensor>* wanted : {&options.keep, &options.only})
    for (const Tensor& x : *wanted) kept_.push_back(tape.position_of(x));
  if (!options.only.empty()) mark_needed();
  memory_.sums.clear();
  if (first_ > last_) return;  // nothing of BackwardOptions::only is before the loss
  memory_.sums.resize(static_cast<std::size_t>(last_ - first_) + 1);
  sum_of(last_) =
      options.grad_output.defined() ? constant_value(options.grad_output) : ones(loss.shape(), loss.dtype());
}

Tape::BackwardRun::~BackwardRun() {
  memory_.sums.clear();
  memory_.needed.clear();
  if (!outer_ && (!retain_ || !tape_)) memory_.release_nodes();
  if (!tape_) {
    if (!outer_) memory_.give_back();
    return;
  }
  tape_->running_ = outer_;
  tape_->state_ = retain_ ? State::recording : State::spent;
}

void Tape::leave_to_backward() { running_->outlive_tape(); }

// Marks the nodes that are in BackwardOptions::only or lead to one that is. The run ends at the first of them, and
// costs nothing for what is before it on the tape.
void Tape::BackwardRun::mark_needed() {
  first_ = last_ + 1;
  for (const Tensor& x : options_.only) first_ = std::min(first_, tape_->position_of(x));
  memory_.needed.clear();
  if (first_ > last_) return;
  memory_.needed.resize(static_cast<std::size_t>(last_ - first_) + 1, 0);
  const auto flags = [&](int64_t position) -> uint8_t& {
    return memory_.needed[static_cast<std::size_t>(position - first_)];
  };
  for (const Tensor& x : options_.only)
    if (tape_->position_of(x) <= last_) flags(tape_->position_of(x)) = kWanted;  // not later than the loss
  for (int64_t position = first_; position <= last_; ++position) {
    for (const int64_t from : memory_.inputs_of(memory_.node(position)))
      if (from >= first_ && flags(from)) flags(position) |= kLeads;
  }
}

Gradients Tape::BackwardRun::gradients() {
  if (options_.per_example && examples_ == 0) {
    const int64_t count = memory_.node(last_).shape[0];
    for (Gradients::Entry& entry : found_) {
      Shape shape = entry.grad.shape();
      shape.insert(0, count);
      entry.grad = count == 1 ? entry.grad.reshape(shape) : zeros(shape, entry.grad.dtype());
    }
  }
  return {std::move(found_), std::move(found_rows_)};
}

// --- one node ---

Tensor Tape::BackwardRun::take_gradient(int64_t position) {
  Tensor dy = std::move(sum_of(position));
  if (tape_->trap_nan_ && dy.defined())
    detail::require_finite(memory_, dy, tape_->op_name(position), position, "gradient");
  return dy;
}

void Tape::BackwardRun::give(int64_t position, const Tensor& dy, RowGradient rows) {
  const Tensor& leaf = memory_.node(position).leaf;
  if (!leaf.defined()) {
    const bool wanted = std::find(kept_.begin(), kept_.end(), position) != kept_.end();
    if (wanted) found_.push_back({TapeIndex{tape_->id_, position}, dy});
    return;
  }
  TapeIndex place = leaf.tape_index();
  if (place.tape == TapeIndex::kFrozenLeaf) place.tape = TapeIndex::kLeaf;  // frozen after it was recorded
  if (!options_.sink) {
    found_.push_back({place, dy});
    if (rows.defined()) found_rows_.push_back({place, std::move(rows), Tensor()});
    return;
  }
  if (!retain_) memory_.release_leaf(position);  // all that has it as an input is gone
  rows.defined() ? options_.sink->take_rows(place, rows) : options_.sink->take(place, dy);
}

void Tape::BackwardRun::propagate(int64_t position, const Tensor& dy) {
  const detail::Node& node = memory_.node(position);
  if (node.leaf.defined() || !node.op || !is_needed(position, kLeads)) return;
  const Op& op = *node.op;
  const detail::NodeTimer timer(op, position);
  const bool each = examples_ > 0 && detail::is_per_example(dy, node.shape);
  Grads grads = each ? run_node_per_example(position, dy) : run_node(position, dy);
  timer.note(dy, grads);
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const int64_t to = memory_.inputs_of(node)[i];  // looked up each time: what is recorded here makes them move
    if (to >= 0 && grads[i].defined() && is_needed(to, kWanted | kLeads)) accumulate(op, to, std::move(grads[i]));
  }
}

// An Error of the closure gets the place where the node was recorded: the nearest leaf with a name.
Grads Tape::BackwardRun::call(detail::Node& node, const Tensor& dy, BackwardPass& pass, int64_t position) {
  try {
    return node.backward(dy, pass);
  } catch (const Error& error) {
    const std::string_view text = error.what();
    if (typeid(error) != typeid(Error) || text.find("(near ") != std::string_view::npos) throw;
    throw Error(std::string(text) + detail::place_of(detail::nearest_leaf(memory_, position)));
  }
}

BackwardPass Tape::BackwardRun::pass_of(const detail::Node& node) const {
  BackwardPass pass{.retained = retain_, .sums = {}, .positions = memory_.inputs_of(node)};
  if (memory_.needed.empty()) return pass;
  for (std::size_t i = 0; i < pass.positions.size() && i < 32; ++i) {
    const int64_t from = pass.positions[i];
    if (from < 0 || !is_needed(from, kWanted | kLeads)) pass.unwanted |= uint32_t{1} << i;
  }
  return pass;
}

// Gradients of the node's inputs from that of its result.
Grads Tape::BackwardRun::run_node(int64_t position, const Tensor& dy) {
  detail::Node& node = memory_.node(position);
  const Op& op = *node.op;
  if (create_graph_ && !op.twice)
    op.fail("cannot be differentiated twice: its backward is a fused kernel (compose it of plain operations)");
  BackwardPass pass = pass_of(node);
  if (!create_graph_ && !tape_->trap_nan_ && memory_.needed.empty() && examples_ == 0) pass.sums = memory_.sums;
  pass.examples = examples_;
  if (!create_graph_ && examples_ == 0) pass.rows = &rows_.given;
  Grads grads = call(node, dy, pass, position);
  require_tape();
  if (!retain_) node.backward.reset();  // before the gradients are summed
  Layers::require_count(op, grads, node.input_count);
  for (std::size_t i = 0; tape_->trap_nan_ && i < grads.size(); ++i) {
    if (grads[i].defined())
      detail::require_finite(memory_, grads[i], op.name, position, fmt::format("gradient of input {}", i));
  }
  if (rows_.given.defined()) accumulate_rows(op, position);
  return grads;
}

// The same for a result without rows: it was computed from parameters alone, or has mixed all examples.
Grads Tape::BackwardRun::run_node_per_example(int64_t position, const Tensor& dy) {
  detail::Node& node = memory_.node(position);
  std::vector<std::vector<Tensor>> found(node.input_count);
  for (int64_t example = 0; example < examples_; ++example) {
    BackwardPass pass = pass_of(node);
    pass.retained = retain_ || example + 1 < examples_;
    Grads grads = call(node, dy.select(0, example), pass, position);
    require_tape();
    Layers::require_count(*node.op, grads, node.input_count);
    for (std::size_t i = 0; i < found.size(); ++i) found[i].push_back(std::move(grads[i]));
  }
  if (!retain_) node.backward.reset();
  Grads joined;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const int64_t from = memory_.inputs_of(node)[i];
    joined.push_back(from < 0 ? Tensor() : detail::joined(*node.op, found[i], memory_.node(from).shape));
  }
  return joined;
}

void Tape::BackwardRun::end_node(int64_t position) {
  if (!retain_) memory_.node(position).backward.reset();  // frees what it captured
  if (!options_.sink) return;
  options_.sink->ran_node(position <= memory_.first_reader);
  require_tape();
}

Tensor* BackwardPass::gradient_so_far(std::size_t input) const {
  if (sums.empty()) return nullptr;
  Tensor& sum = sums[static_cast<std::size_t>(positions[input])];
  return sum.defined() && sum.unique() && sum.is_contiguous() ? &sum : nullptr;
}

// --- sums of gradients ---

// A gradient that is a leaf's own handle would change with the leaf's next update: another handle keeps the values.
Tensor Tape::BackwardRun::constant_value(Tensor grad) const {
  if (!grad.is_leaf()) return grad;
  return create_graph_ && !grad.is_frozen() ? Tape::variable(grad) : grad.detach();
}

// Adds to the gradient of the node at `position`. Broadcasting is undone here, once for all operations.
void Tape::BackwardRun::accumulate(const Op& op, int64_t position, Tensor grad) {
  const detail::Node& target = memory_.node(position);
  if (grad.dtype() != (is_half(target.dtype) ? kFloat32 : target.dtype))
    fail(op, "backward returned a {} gradient for a {} input", grad.dtype(), target.dtype);
  if (!(grad.shape() == target.shape)) {
    require(broadcasts_to(target.shape, grad.shape()), op,
            "backward returned a gradient of shape {} for an input of shape {}", grad.shape(), target.shape);
    if (examples_ == 0) grad = sum_to(grad, target.shape);
  }
  if (examples_ > 0) grad = detail::in_form(op, grad, target.shape, examples_, target.leaf);
  Tensor& sum = sum_of(position);
  if (const RowGradient rows = take_rows(position); rows.defined()) sum = rows.dense();
  require(!sum.defined() || sum.shape() == grad.shape(), op,
          "cannot compute gradients per example: here or in another operation, the examples of an operand of shape {} "
          "are mixed",
          target.shape);
  if (!sum.defined()) {
    sum = grad.is_leaf() ? constant_value(std::move(grad)) : std::move(grad);  // the first one is adopted
  } else if (!create_graph_ && sum.unique() && sum.is_contiguous()) {
    accumulate_into(sum, grad);
  } else {
    sum = add(sum, grad);
  }
}

// Adds the rows that the operation at `position` gave. They stay rows if nothing else adds to the input, a leaf.
void Tape::BackwardRun::accumulate_rows(const Op& op, int64_t position) {
  RowGradient rows = std::exchange(rows_.given, {});
  if (tape_->trap_nan_) detail::require_finite(memory_, rows.values, op.name, position, "gradient of input 0");
  const int64_t to = memory_.inputs_of(memory_.node(position))[0];
  if (to < 0 || !is_needed(to, kWanted | kLeads)) return;
  const detail::Node& target = memory_.node(to);
  detail::require_rows(op, rows, target.shape, target.dtype);
  if (!target.leaf.defined() || sum_of(to).defined()) return accumulate(op, to, rows.dense());
  rows_.add(to, std::move(rows));
}

// --- errors ---

void Tape::BackwardRun::require_tape() const {
  if (!tape_) fail(kBackward, "the tape was destroyed by a function that its backward called (end it afterwards)");
}

void Tape::require_differentiable(const Tensor& loss, const BackwardOptions& options) {
  if (running_) fail(kBackward, "this tape is running backward (expected no second start in an operation's backward)");
  require(!options.create_graph || pauses_ <= 0, kBackward,
          "create_graph records backward, but recording is paused (end the PauseRecording first)");
  require(state_ == State::recording, kBackward,
          "backward has already run on this tape, which is now empty (start a new Tape for each step)");
  if (!on_its_thread())
    fail(kBackward, "expected the thread that began this tape, got another one (a tape belongs to its thread)");
  if (tangents_) fail(kBackward, "expected a tape, got the forward pass of jvp (begin a Tape in the function)");
  // From inside a jvp only with create_graph: then the tangents of what it computes are computed, too.
  if (*thread_ != this && !(options.create_graph && for_backward() == this))
    fail(kBackward, "an inner tape is still in scope (end its scope first)");
  if (position_of(loss) < 0) fail_unrecorded();
  if (!is_floating(loss.dtype())) fail(kBackward, "the loss is {}, not floating", loss.dtype());
  if (options.per_example) require_per_example(loss, options);
  if (options.per_example && layered_)
    fail(kBackward, "per_example cannot be combined with a jvp that differentiates the gradients");
  const Tensor& dy = options.grad_output;
  require(dy.defined() || loss.numel() == 1 || options.per_example, kBackward,
          "expected a loss of one element, got shape {} (or give BackwardOptions::grad_output)", loss.shape());
  if (dy.defined() && (!(dy.shape() == loss.shape()) || dy.dtype() != loss.dtype())) {
    fail(kBackward, "expected a grad_output of the loss's {} {}, got {} {}", loss.dtype(), loss.shape(), dy.dtype(),
         dy.shape());
  }
  for (const auto& [tensors, what] : {std::pair{&options.keep, "keep"}, {&options.only, "only"}}) {
    for (const Tensor& x : *tensors)
      require(position_of(x) >= 0, kBackward,
              "expected tensors of this tape in {}, got one of shape {} that is not on it", what, x.shape());
  }
}

}  // namespace tapegrad
