// The base of all optimisers: gradients by parameter, one parallel row over all parameters, state in and out.
#include <tapegrad/autograd/autocast.h>
#include <tapegrad/autograd/internal/events.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/leaf_names.h>
#include <tapegrad/autograd/limits.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/profiler.h>
#include <tapegrad/optim/detail/mismatch.h>
#include <tapegrad/optim/detail/state.h>
#include <tapegrad/optim/optimizer.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapegrad::optim {

namespace {

constexpr std::string_view kOptimizer = "optimizer";
constexpr int64_t kUpdateGrain = int64_t{1} << 15;  // elements a thread takes at a time

double checked(std::string_view what, double value) {
  require_in(kOptimizer, what, value, kNotNegative);
  return value;
}

}  // namespace

Optimizer::Optimizer(ParameterGroups groups, double lr, double weight_decay, std::vector<std::string> buffer_names,
                     BufferShape buffer_shape)
    : buffer_names_(std::move(buffer_names)), buffer_shape_(buffer_shape), lr_(checked("lr", lr)) {
  for (ParameterGroup& group : groups) {
    if (group.lr) checked("lr", *group.lr);
    groups_.push_back({group.lr, checked("weight_decay", group.weight_decay.value_or(weight_decay))});
    for (NamedTensor& p : group.parameters) {
      require(p.tensor.defined() && p.tensor.is_leaf() && p.tensor.is_contiguous(), kOptimizer,
              "\"{}\" is not a contiguous leaf (take parameters(model), or as_leaf())", p.name);
      Slot slot{.name = std::move(p.name),
                .parameter = std::move(p.tensor),
                .group = groups_.size() - 1,
                .buffers = {},
                .grad = {}};
      slot.buffers.resize(buffer_names_.size());
      slots_.push_back(std::move(slot));
    }
  }
  if (slots_.empty()) fail(kOptimizer, "expected at least one parameter, got none");
  for (std::size_t i = 0; i < slots_.size(); ++i)
    slot_of_leaf_.emplace_back(slots_[i].parameter.tape_index().position, i);
  for (const Slot& slot : slots_) named_.push_back(!tapegrad::detail::leaf_name(slot.parameter.tape_index()).empty());
  std::sort(slot_of_leaf_.begin(), slot_of_leaf_.end());
  const auto twice = std::adjacent_find(slot_of_leaf_.begin(), slot_of_leaf_.end(),
                                        [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice != slot_of_leaf_.end()) {
    const Slot& slot = slots_[twice->second];
    fail(kOptimizer, "{} is given twice", quoted(slot.name, slot.parameter));
  }
  std::vector<std::string_view> names;
  for (const Slot& slot : slots_) {
    if (!slot.name.empty()) names.push_back(slot.name);
  }
  std::sort(names.begin(), names.end());
  if (const auto same = std::adjacent_find(names.begin(), names.end()); same != names.end()) {
    fail(kOptimizer, "two parameters are named \"{}\" (state() could not tell them apart)", *same);
  }
  active_.reserve(slots_.size());
}

// The shape of a state tensor of a parameter, if it has that one.
std::optional<Shape> Optimizer::shape_of(std::size_t buffer, const Slot& slot) const {
  return buffer_shape_ ? buffer_shape_(buffer, slot.parameter) : slot.parameter.shape();
}

// State is allocated in the first step that uses a parameter: one that stays frozen, or is in the share of another
// process, needs no memory for it.
void Optimizer::make_buffers(Slot& slot) {
  for (std::size_t b = 0; b < slot.buffers.size(); ++b) {
    const std::optional<Shape> shape = shape_of(b, slot);
    if (shape && !slot.buffers[b].defined()) {
      slot.buffers[b] = full(*shape, buffer_start_, slot.parameter.dtype());
    }
  }
}

void Optimizer::start_buffers_at(double value) {
  buffer_start_ = value;
  for (Slot& slot : slots_) {
    for (Tensor& buffer : slot.buffers) {
      if (buffer.defined()) buffer = full(buffer.shape(), value, buffer.dtype());
    }
  }
}

void Optimizer::set_lr(double lr) { lr_ = checked("lr", lr); }

double Optimizer::group_lr(std::size_t group) const {
  require_group(group);
  return groups_[group].lr.value_or(lr_);
}

void Optimizer::set_group_lr(std::size_t group, double lr) {
  require_group(group);
  groups_[group].lr = checked("lr", lr);
}

void Optimizer::require_group(std::size_t group) const {
  if (group >= groups_.size()) fail(kOptimizer, "expected a group below {}, got {}", groups_.size(), group);
}

// A module takes its leaf's name back when it drops the leaf.
void Optimizer::find_missing(const Slot& slot, Mismatch& wrong) const {
  if (allow_missing_) return;
  const bool named = named_[static_cast<std::size_t>(&slot - slots_.data())];
  const Tensor& leaf = slot.parameter;
  wrong.missing(slot.name, leaf, named ? tapegrad::detail::leaf_name(leaf.tape_index()).empty() : leaf.unique());
}

void Optimizer::require_missing_allowed(const Slot& slot) const {
  Mismatch wrong;
  find_missing(slot, wrong);
  wrong.require_none(kOptimizer);
}

void Optimizer::ignore(const NamedTensors& others) {
  for (const NamedTensor& other : others) {
    const bool leaf = other.tensor.defined() && other.tensor.is_leaf();
    if (!leaf || find(other.tensor.tape_index()))
      fail(kOptimizer, "expected parameters of another model to ignore, got {}, which is {}",
           other.tensor.defined() ? quoted(other.name, other.tensor) : "an empty handle",
           leaf ? "one of this optimiser's" : "not a leaf");
  }
  for (const NamedTensor& other : others) ignored_.push_back(other.tensor.tape_index().position);
  std::sort(ignored_.begin(), ignored_.end());
}

bool Optimizer::ignores(const TapeIndex& leaf) const {
  return !find(leaf) && (allow_unknown_ || std::binary_search(ignored_.begin(), ignored_.end(), leaf.position));
}

const Optimizer::Slot* Optimizer::find(const TapeIndex& leaf) const {
  const auto at =
      std::lower_bound(slot_of_leaf_.begin(), slot_of_leaf_.end(), std::pair{leaf.position, std::size_t{0}});
  return at != slot_of_leaf_.end() && at->first == leaf.position ? &slots_[at->second] : nullptr;
}

void Optimizer::take_gradient(Slot& slot, const Tensor& grad) const {
  if (!(grad.shape() == slot.parameter.shape()) || grad.dtype() != slot.parameter.dtype()) {
    fail(kOptimizer, "{} is {} {}, its gradient {} {}", quoted(slot.name, slot.parameter), slot.parameter.dtype(),
         slot.parameter.shape(), grad.dtype(), grad.shape());
  }
  slot.grad = grad.detach().contiguous();
  slot.rows = {};
  require_finite(slot);
}

// After the gradients of all these are taken: one may share memory with another's parameter.
void Optimizer::prepare_write(const PoolVector<Slot*>& slots) {
  int64_t start = 0;
  for (Slot* slot : slots) {
    slot->start = start;
    start += slot->grad.numel();
    slot->parameter.prepare_write(kOptimizer, slot->name);
    make_buffers(*slot);
    for (Tensor& buffer : slot->buffers) {
      if (buffer.defined() && !buffer.unique()) buffer = buffer.clone();
    }
  }
}

// Checks everything before anything is written.
void Optimizer::gather(const Gradients& grads) {
  active_.clear();
  Mismatch wrong;
  for (Slot& slot : slots_) {
    if (slot.parameter.is_frozen()) continue;
    if (const RowGradient* rows = grads.rows(slot.parameter)) {
      take_rows(slot, *rows);
    } else if (const Tensor* grad = grads.find(slot.parameter)) {
      take_gradient(slot, *grad);
    } else {
      find_missing(slot, wrong);
      continue;
    }
    active_.push_back(&slot);
  }
  const auto is_unknown = [this](const Gradients::Entry& entry) {
    return entry.place.tape == TapeIndex::kLeaf && !find(entry.place) && !ignores(entry.place);
  };
  if (std::ranges::any_of(grads.entries(), is_unknown)) {
    for (const Gradients::Entry& entry : grads)
      if (is_unknown(entry)) wrong.unknown(entry.place, entry.grad);
  }
  wrong.require_none(kOptimizer);
  prepare_write(active_);
}

void Optimizer::require_no_share() const {
  if (has_share())
    fail(kOptimizer, "this optimiser updates a share of the parameters (call step() of the DataParallel that has it)");
}

void Optimizer::step(const Gradients& grads) {
  const ProfileScope scope("optimizer.step", ProfilePhase::optimizer);
  const PauseRecording pause;
  require_no_share();
  gather(grads);
  begin_update();
  update_slots(active_);
  if (tapegrad::detail::is_profiling()) tapegrad::detail::end_step();
}

// Counts the step of the active parameters.
void Optimizer::begin_update() {
  ++steps_;
  int64_t most = 0;
  for (Slot* slot : active_) most = std::max(most, ++slot->steps);
  begin_step(most);
}

// Small parameters wait for others, so that all threads have work; all wait for functions that may read any of them.
class Optimizer::UpdateInBackward : public GradientSink {
 public:
  explicit UpdateInBackward(Optimizer& owner) : owner_(owner), waits_(owner.slots_.size()) {
    for (const Slot* slot : owner.active_) waits_[index_of(slot)] = true;
  }
  void take(const TapeIndex& leaf, const Tensor& grad) override {
    Slot* const slot = waiting(leaf);
    if (!slot) return;
    owner_.take_gradient(*slot, grad);
    made_ready(slot);
  }
  void take_rows(const TapeIndex& leaf, const RowGradient& grad) override {
    Slot* const slot = waiting(leaf);
    if (!slot) return;
    owner_.take_rows(*slot, grad);
    made_ready(slot);
  }
  void ran_node(bool may_write) override {
    if (may_write && elements_ >= kTogether) update();
  }
  // Updates those that wait for others. Error for a parameter that backward gave no gradient.
  void end() {
    begin();
    update();
    const auto missing = std::find_if(owner_.active_.begin(), owner_.active_.end(),
                                      [this](const Slot* slot) { return waits_[index_of(slot)]; });
    if (missing != owner_.active_.end()) owner_.require_missing_allowed(**missing);
    complete_ = true;
  }
  // Those that were not updated have not made this step.
  ~UpdateInBackward() override {
    if (begun_ && !complete_) --owner_.steps_;
    for (Slot* slot : owner_.active_) {
      if (begun_ && waits_[index_of(slot)]) --slot->steps;
      slot->grad = Tensor();
    }
  }

 private:
  static constexpr int64_t kTogether = 4 * kUpdateGrain;
  // nullptr if it is unknown or frozen.
  Slot* waiting(const TapeIndex& leaf) {
    Slot* const slot = owner_.find(leaf);
    return slot && waits_[index_of(slot)] ? slot : nullptr;
  }
  void made_ready(Slot* slot) {
    ready_.push_back(slot);
    elements_ += slot->grad.numel();
  }
  std::size_t index_of(const Slot* slot) const { return static_cast<std::size_t>(slot - owner_.slots_.data()); }
  // Not before the first update: functions that backward calls see the optimiser as it was before the step, and may
  // still freeze parameters.
  void begin() {
    if (std::exchange(begun_, true)) return;
    const auto is_frozen = [](const Slot* slot) { return slot->parameter.is_frozen(); };
    for (Slot* slot : ready_) {
      if (is_frozen(slot)) slot->grad = Tensor();
    }
    std::erase_if(ready_, is_frozen);
    std::erase_if(owner_.active_, is_frozen);
    owner_.begin_update();
  }
  void update() {
    if (ready_.empty()) return;
    const ProfileScope scope("optimizer.step", ProfilePhase::optimizer);
    begin();
    owner_.prepare_write(ready_);
    owner_.update_slots(ready_);
    for (const Slot* slot : ready_) waits_[index_of(slot)] = false;
    ready_.clear();
    elements_ = 0;
  }

  Optimizer& owner_;
  PoolVector<bool> waits_;  // by slot: an active parameter that is not updated yet
  PoolVector<Slot*> ready_;
  int64_t elements_ = 0;  // of ready_
  bool begun_ = false, complete_ = false;
};

void Optimizer::step(Tape& tape, const Tensor& loss) {
  require_no_share();
  active_.clear();
  PoolVector<bool> used(slots_.size());
  Mismatch wrong;
  for (const Tensor& leaf : tape.leaves_of(loss)) {
    if (const Slot* const slot = find(leaf.tape_index())) {
      used[static_cast<std::size_t>(slot - slots_.data())] = true;
    } else if (!ignores(leaf.tape_index())) {
      wrong.unknown(leaf.tape_index(), leaf);
    }
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].parameter.is_frozen()) continue;
    if (used[i]) {
      slots_[i].parameter.require_writable(kOptimizer, slots_[i].name, 1);  // backward releases it from this tape
      active_.push_back(&slots_[i]);
    } else {
      find_missing(slots_[i], wrong);
    }
  }
  wrong.require_none(kOptimizer);
  if (const double value = loss.item(); !std::isfinite(value))
    fail(kOptimizer, "the loss is {}, so nothing was updated (Tape::trap_nan finds the operation)", value);
  // State is allocated before backward. Otherwise it would be put into memory of activations that backward has freed,
  // and the activations of the next step would need new memory.
  for (Slot* slot : active_) make_buffers(*slot);
  UpdateInBackward updates(*this);
  (void)tape.backward(loss, {.sink = &updates});
  const PauseRecording pause;
  updates.end();
  if (tapegrad::detail::is_profiling()) tapegrad::detail::end_step();
}

void Optimizer::update_all(const PoolVector<Slot*>& slots) {
  const int64_t total = slots.empty() ? 0 : slots.back()->start + slots.back()->parameter.numel();
  // All parameters as one row: small ones share a piece, large ones are cut.
  parallel_for(total, kUpdateGrain, [&](int64_t begin, int64_t end) {
    auto at = std::upper_bound(slots.begin(), slots.end(), begin,
                               [](int64_t place, const Slot* slot) { return place < slot->start; });
    for (--at; begin < end; ++at) {
      const Slot& slot = **at;
      const int64_t stop = std::min(end, slot.start + slot.parameter.numel());
      if (begin < stop) update(slot, begin - slot.start, stop - slot.start);
      begin = std::max(begin, stop);
    }
  });
}

NamedTensors Optimizer::parameters() const {
  NamedTensors all;
  for (const Slot& slot : slots_) all.push_back({slot.name, slot.parameter});
  return all;
}

// The elements of `whole`, a parameter or a state tensor of it, that are in its share, which is not empty: a flat view,
// or `whole` itself where parameters are not cut.
Tensor Optimizer::part_of(std::size_t slot, const Tensor& whole) const {
  if (!is_elementwise()) return whole;
  return whole.view({share_[slot].size()}, {1}, share_[slot].begin);
}

// --- state ---

NamedTensors Optimizer::state_counts() const {
  std::vector<int64_t> steps{steps_};
  std::vector<double> rates{lr_};
  for (const Slot& slot : slots_) steps.push_back(slot.steps);
  for (const Group& group : groups_) rates.push_back(group.lr.value_or(std::numeric_limits<double>::quiet_NaN()));
  return {{"steps", tensor(steps, {static_cast<int64_t>(steps.size())})},
          {"lr", tensor(rates, {static_cast<int64_t>(rates.size())})}};
}

std::vector<Optimizer::StateEntry> Optimizer::state_entries() const {
  std::vector<StateEntry> entries;
  for (std::size_t b = 0; b < buffer_names_.size(); ++b) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (const std::optional<Shape> shape = shape_of(b, slots_[i]))
        entries.push_back({buffer_names_[b] + "." + slots_[i].name, *shape, i, b});
    }
  }
  return entries;
}

Tensor Optimizer::state_start(const StateEntry& entry) const {
  return full(entry.shape, buffer_start_, slots_[entry.parameter].parameter.dtype());
}

NamedTensors Optimizer::state() const {
  if (has_share()) fail(kOptimizer, "this optimiser has a share of the state (call state() of its DataParallel)");
  NamedTensors state = state_counts();
  for (const StateEntry& entry : state_entries()) {
    const Tensor& buffer = slots_[entry.parameter].buffers[entry.buffer];
    state.push_back({entry.name, buffer.defined() ? buffer : state_start(entry)});
  }
  return state;
}

void Optimizer::load_state(const NamedTensors& state) { load_state(state, {}); }

// With `read`, tensors of `state` but the counts only have their names, shapes and types.
void Optimizer::load_state(const NamedTensors& state, const ReadElements& read) {
  StateEntries entries(kOptimizer, state);
  const auto steps = entries.take("steps", {1 + static_cast<int64_t>(slots_.size())}, kInt64).to_vector<int64_t>();
  const auto rates = entries.take("lr", {1 + static_cast<int64_t>(groups_.size())}, kFloat64).to_vector<double>();
  std::vector<std::pair<Tensor*, Tensor>> copies;  // to, from
  for (const StateEntry& entry : state_entries()) {
    Slot& slot = slots_[entry.parameter];
    const Tensor whole = entries.take(entry.name, entry.shape, slot.parameter.dtype());
    Tensor& copy = copies.emplace_back(&slot.buffers[entry.buffer], Tensor()).second;
    if (has_share() && share_[entry.parameter].size() == 0) continue;
    const bool cut = has_share() && is_elementwise();
    if (read) {
      const Range range = cut ? share_[entry.parameter] : Range{0, whole.numel()};
      copy = read(entry.name, range.begin, range.end).reshape(cut ? Shape{range.size()} : entry.shape);
    } else {
      copy = (cut ? part_of(entry.parameter, whole.contiguous()) : whole.contiguous()).clone();
    }
  }
  entries.require_end();
  for (const int64_t count : steps) {
    if (count < 0) fail(kOptimizer, "the state has a negative step count, {}", count);
  }
  checked("lr", rates[0]);
  for (const double rate : rates) {
    if (!std::isnan(rate)) checked("lr", rate);  // NaN: the group has no rate
  }
  for (auto& [to, from] : copies) *to = std::move(from);
  steps_ = steps[0];
  for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].steps = steps[i + 1];
  lr_ = rates[0];
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    groups_[i].lr = std::isnan(rates[i + 1]) ? std::nullopt : std::optional(rates[i + 1]);
  }
}

}  // namespace tapegrad::optim
