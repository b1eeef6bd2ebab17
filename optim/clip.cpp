// Clipping of gradients.
#include <fmt/format.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/optim/clip.h>
#include <tapegrad/optim/detail/kernels.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::optim {

namespace {

constexpr int64_t kGrain = int64_t{1} << 15;

bool is_of_leaf(const Gradients::Entry& entry) { return entry.place.tape == TapeIndex::kLeaf; }

// f(n, elements) in pieces over one gradient, which becomes a tensor of its own first where others share it.
template <class F>
void rewrite(Tensor& grad, const F& f) {
  if (!grad.unique() || !grad.is_contiguous() || grad.tape_index().tape != 0) {
    grad = grad.clone();
  }
  with_floating_type(grad.dtype(), [&](auto t) {
    auto* const x = grad.mutable_data<decltype(t)>();
    parallel_for(grad.numel(), kGrain, [&](int64_t begin, int64_t end) { f(end - begin, x + begin); });
  });
}

double squares_of(const Tensor& grad) {
  const Tensor packed = grad.detach().contiguous();
  const int64_t n = packed.numel();
  std::vector<double, pool::Allocator<double>> sums(static_cast<std::size_t>((n + kGrain - 1) / kGrain));
  with_floating_type(packed.dtype(), [&](auto t) {
    const auto* const x = packed.data<decltype(t)>();
    parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
      sums[static_cast<std::size_t>(begin / kGrain)] = sum_of_squares(end - begin, x + begin);
    });
  });
  double sum = 0;
  for (const double s : sums) sum += s;
  return sum;
}

}  // namespace

double clip_grad_norm(Gradients& grads, double max_norm) {
  if (!(max_norm > 0)) fail("clip_grad_norm", fmt::format("max_norm is {}, it must be positive", max_norm));
  const PauseRecording pause;
  double sum = 0;
  for (const Gradients::Entry& entry : grads) sum += is_of_leaf(entry) ? squares_of(entry.grad) : 0;
  const double norm = std::sqrt(sum);
  if (!std::isfinite(norm)) {
    fail("clip_grad_norm",
         fmt::format("the norm of the gradients is {} (Tape::trap_nan finds where that began)", norm));
  }
  const double factor = max_norm / (norm + 1e-6);
  if (factor >= 1) return norm;
  for (Gradients::Entry& entry : grads) {
    if (is_of_leaf(entry)) rewrite(entry.grad, [factor](int64_t n, auto* x) { scale(n, x, factor); });
  }
  return norm;
}

void clip_grad_value(Gradients& grads, double limit) {
  if (!(limit > 0)) fail("clip_grad_value", fmt::format("the limit is {}, it must be positive", limit));
  const PauseRecording pause;
  for (Gradients::Entry& entry : grads) {
    if (is_of_leaf(entry)) rewrite(entry.grad, [limit](int64_t n, auto* x) { cut(n, x, limit); });
  }
}

}  // namespace tapegrad::optim
