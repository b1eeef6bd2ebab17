// The update of parameters, of which some have gradients in rows.
#include <tapegrad/autograd/autocast.h>
#include <tapegrad/autograd/internal/events.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/profiler.h>
#include <tapegrad/optim/detail/mismatch.h>
#include <tapegrad/optim/optimizer.h>

#include <cstring>
#include <utility>

namespace tapegrad::optim {

namespace {

constexpr std::string_view kUpdate = "optimizer";
constexpr int64_t kRowBytes = int64_t{1} << 15;  // for one thread to copy

}  // namespace

void Optimizer::require_finite(const Slot& slot) {
  if (!all_finite(slot.grad))
    fail(kUpdate, "the gradient of {} is not finite, so it was not updated (Tape::trap_nan finds the operation)",
         quoted(slot.name, slot.parameter));
}

void Optimizer::take_rows(Slot& slot, const RowGradient& grad) const {
  const double decay = weight_decay_of(slot);
  const std::string other = decay != 0 ? fmt::format("weight_decay {}", decay) : std::string(prevents_rows());
  if (!other.empty())
    fail(kUpdate,
         "expected SGD, Adagrad or Adam without momentum, weight_decay and amsgrad for {}, whose gradient is sparse "
         "(nn::EmbeddingOptions::sparse), got {}",
         quoted(slot.name, slot.parameter), other);
  slot.grad = grad.values;
  slot.rows = grad.ids;
  require_finite(slot);
}

// As long as it lives, slots with rows have copies of those rows for their parameter and state.
class Optimizer::RowCopies : NonCopyable {
 public:
  explicit RowCopies(const PoolVector<Slot*>& slots) : slots_(slots) {
    each([this](const Slot& slot, Tensor& x) { others_.push_back(index_select(x.detach(), 0, slot.rows)); });
    exchange();
  }
  ~RowCopies() {
    exchange();
    std::size_t next = 0;
    each([&](const Slot& slot, Tensor& x) { write(others_[next++], slot.rows, x); });
    for (Slot* slot : slots_) slot->rows = Tensor();
  }

 private:
  void each(const auto& f) {
    for (Slot* slot : slots_) {
      if (!slot->rows.defined()) continue;
      f(*slot, slot->parameter);
      for (Tensor& buffer : slot->buffers) f(*slot, buffer);
    }
  }
  void exchange() {
    std::size_t next = 0;
    each([&](const Slot&, Tensor& x) { std::swap(x, others_[next++]); });
  }
  static void write(const Tensor& copy, const Tensor& rows, const Tensor& x) {
    if (copy.numel() == 0) return;
    const int64_t n = rows.numel(), bytes = copy.numel() / n * item_size(x.dtype());
    const int64_t* const id = rows.data<int64_t>();
    parallel_for_each(n, kRowBytes / bytes, [&](int64_t i) {
      std::memcpy(static_cast<std::byte*>(x.mutable_raw_data()) + id[i] * bytes,
                  static_cast<const std::byte*>(copy.raw_data()) + i * bytes, static_cast<std::size_t>(bytes));
    });
  }
  const PoolVector<Slot*>& slots_;
  PoolVector<Tensor> others_;  // in the order of each(): copies, or in exchange the tensors themselves
};

void Optimizer::update_slots(const PoolVector<Slot*>& slots) {
  const Autocast in_own_type(kFloat32);
  const RowCopies rows(slots);
  update_all(slots);
  if (tapegrad::detail::is_profiling()) {
    int64_t bytes = 0;  // gradients are read, parameters and state tensors are read and written
    const auto size = [](const Tensor& x) { return x.defined() ? x.numel() * item_size(x.dtype()) : 0; };
    for (const Slot* slot : slots) {
      bytes += size(slot->grad) + 2 * size(slot->parameter);
      for (const Tensor& buffer : slot->buffers) bytes += 2 * size(buffer);
    }
    tapegrad::detail::count_bytes(bytes);
  }
  for (Slot* slot : slots) slot->grad = Tensor();
}

}  // namespace tapegrad::optim
