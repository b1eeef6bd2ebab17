// Updates a share of the parameters' elements.
#include <tapegrad/autograd/internal/events.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/profiler.h>
#include <tapegrad/optim/detail/mismatch.h>
#include <tapegrad/optim/internal/share.h>

#include <string_view>
#include <utility>

namespace tapegrad::optim {

namespace {

constexpr std::string_view kSharedUpdate = "optimizer";

}  // namespace

void UpdateShare::keep(std::vector<Range> share) {
  std::vector<Slot>& slots = optimizer_.slots_;
  if (share.size() != slots.size())
    fail(kSharedUpdate, "expected a range for each of {} parameters, got {}", slots.size(), share.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const int64_t n = slots[i].parameter.numel();
    const auto& [begin, end] = share[i];
    if (begin < 0 || begin > end || end > n)
      fail(kSharedUpdate, "expected a range of at most {} elements, got {} to {}", n, begin, end);
    if (!may_cut() && begin < end && end - begin < n)
      fail(kSharedUpdate, "{} cannot be cut: its update is not elementwise", quoted(slots[i].name, slots[i].parameter));
  }
  if (optimizer_.has_share()) fail(kSharedUpdate, "this optimiser has a share already");
  optimizer_.share_ = std::move(share);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    for (Tensor& buffer : slots[i].buffers) {
      if (buffer.defined()) buffer = optimizer_.share_[i].size() > 0 ? optimizer_.part_of(i, buffer).clone() : Tensor();
    }
  }
}

std::string UpdateShare::rates() const {
  std::string lines;
  for (std::size_t i = 0; i < optimizer_.groups(); ++i) {
    const std::string of = optimizer_.groups() == 1 ? "" : fmt::format(" of group {}", i);
    lines +=
        fmt::format("lr{0} {1}\nweight_decay{0} {2}\n", of, optimizer_.group_lr(i), optimizer_.groups_[i].weight_decay);
  }
  for (const Slot& slot : optimizer_.slots_)
    if (slot.parameter.is_frozen()) lines += fmt::format("{} frozen\n", quoted(slot.name, slot.parameter));
  return lines;
}

// As long as it lives, each active slot's parameter is the view of its share; update() sees nothing else.
class UpdateShare::Views : NonCopyable {
 public:
  explicit Views(Optimizer& owner) : owner_(owner), whole_(owner.slots_.size()) {}
  void take(std::size_t i) {
    whole_[i] = owner_.slots_[i].parameter;
    owner_.slots_[i].parameter = owner_.part_of(i, whole_[i].detach());
  }
  ~Views() {
    for (std::size_t i = 0; i < whole_.size(); ++i) {
      if (!whole_[i].defined()) continue;
      owner_.slots_[i].parameter = std::move(whole_[i]);
      owner_.slots_[i].grad = Tensor();
    }
  }

 private:
  Optimizer& owner_;
  std::vector<Tensor> whole_;
};

void UpdateShare::check(const std::vector<Tensor>& grads) const {
  const std::vector<Slot>& slots = optimizer_.slots_;
  if (!optimizer_.has_share() || grads.size() != slots.size())
    fail(kSharedUpdate, "expected keep() and all gradients before the step of a share");
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].parameter.is_frozen()) continue;
    if (!grads[i].defined()) optimizer_.require_missing_allowed(slots[i]);
    if (grads[i].defined() && !all_finite(grads[i]))
      fail(kSharedUpdate,
           "the gradient of {} is not finite, so it was not updated (Tape::trap_nan finds the operation)",
           quoted(slots[i].name, slots[i].parameter));
    slots[i].parameter.require_writable(kSharedUpdate, slots[i].name);
  }
}

void UpdateShare::step(const std::vector<Tensor>& grads) {
  const ProfileScope scope("optimizer.step", ProfilePhase::optimizer);
  const PauseRecording pause;
  std::vector<Slot>& slots = optimizer_.slots_;
  optimizer_.active_.clear();
  Views views(optimizer_);
  int64_t start = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    Slot& slot = slots[i];
    if (!grads[i].defined() || slot.parameter.is_frozen()) continue;
    slot.parameter.prepare_write(kSharedUpdate, slot.name);
    if (optimizer_.share_[i].size() == 0) {  // counted like the others: the state has its steps
      ++slot.steps;
      continue;
    }
    views.take(i);
    optimizer_.make_buffers(slot);
    for (Tensor& buffer : slot.buffers) {
      if (buffer.defined() && !buffer.unique()) buffer = buffer.clone();
    }
    slot.grad = grads[i].reshape(slot.parameter.shape());
    slot.rows = Tensor();
    slot.start = start;
    start += slot.parameter.numel();
    optimizer_.active_.push_back(&slot);
  }
  optimizer_.begin_update();
  optimizer_.update_slots(optimizer_.active_);
  if (tapegrad::detail::is_profiling()) tapegrad::detail::end_step();
}

Tensor UpdateShare::state_of(const StateEntry& entry) const {
  const Slot& slot = optimizer_.slots_[entry.parameter];
  const Tensor& buffer = slot.buffers[entry.buffer];
  if (buffer.defined()) return buffer;
  if (!optimizer_.has_share()) return state_start(entry);
  const int64_t size = optimizer_.share_[entry.parameter].size();
  return may_cut() || size == 0 ? full({size}, optimizer_.buffer_start_, slot.parameter.dtype()) : state_start(entry);
}

}  // namespace tapegrad::optim
