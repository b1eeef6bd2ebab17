// Clipping of gradients.
#include <fmt/format.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/profiler.h>
#include <tapegrad/optim/clip.h>
#include <tapegrad/optim/internal/clipping.h>

#include <cmath>
#include <utility>

namespace tapegrad::optim {

namespace {

constexpr int64_t kPiece = int64_t{1} << 15;

bool is_of_leaf(const Gradients::Entry& entry) { return entry.place.tape == TapeIndex::kLeaf; }

// kernel(dtype, elements, argument, begin, end) in pieces over one gradient, which is copied first if its memory is
// shared.
void rewrite(Tensor& grad, void (*kernel)(DType, void*, double, int64_t, int64_t), double argument) {
  if (!grad.unique() || !grad.is_contiguous() || grad.tape_index().tape != 0) {
    grad = grad.clone();
  }
  void* const x = grad.mutable_raw_data();
  parallel_for(grad.numel(), kPiece,
               [&](int64_t begin, int64_t end) { kernel(grad.dtype(), x, argument, begin, end); });
}

double squares_of(const Tensor& grad) {
  const Tensor packed = grad.detach().contiguous();
  const int64_t n = packed.numel();
  std::vector<double, pool::Allocator<double>> sums(static_cast<std::size_t>((n + kPiece - 1) / kPiece));
  parallel_for(n, kPiece, [&](int64_t begin, int64_t end) {
    sums[static_cast<std::size_t>(begin / kPiece)] = sum_of_squares(packed.dtype(), packed.raw_data(), begin, end);
  });
  double sum = 0;
  for (const double s : sums) sum += s;
  return sum;
}

}  // namespace

double clip_factor(double norm, double max_norm) {
  if (!std::isfinite(norm))
    fail("clip_grad_norm", fmt::format("the norm of the gradients is {} (Tape::trap_nan finds the operation)", norm));
  return max_norm / (norm + 1e-6);
}

double clip_grad_norm(Gradients& grads, double max_norm) {
  if (!(max_norm > 0)) fail("clip_grad_norm", fmt::format("max_norm must be positive, got {}", max_norm));
  const ProfileScope scope("clip_grad_norm", ProfilePhase::optimizer);
  const PauseRecording pause;
  double sum = 0;
  for (const Gradients::Entry& entry : grads) sum += is_of_leaf(entry) ? squares_of(entry.grad) : 0;
  const double norm = std::sqrt(sum), factor = clip_factor(norm, max_norm);
  if (factor >= 1) return norm;
  for (Gradients::Entry& entry : grads) {
    if (is_of_leaf(entry)) rewrite(entry.grad, scale, factor);
  }
  return norm;
}

double clip_grad_norm(Gradients& grads, double max_norm, const Optimizer& optimizer) {
  if (optimizer.allows_unknown()) {
    Gradients own;
    for (const NamedTensor& p : optimizer.parameters())
      if (const Tensor* grad = grads.find(p.tensor)) own.set(p.tensor, *grad);
    grads = std::move(own);
  }
  return clip_grad_norm(grads, max_norm);
}

void clip_grad_value(Gradients& grads, double limit) {
  if (!(limit > 0)) fail("clip_grad_value", fmt::format("the limit must be positive, got {}", limit));
  const ProfileScope scope("clip_grad_value", ProfilePhase::optimizer);
  const PauseRecording pause;
  for (Gradients::Entry& entry : grads) {
    if (is_of_leaf(entry)) rewrite(entry.grad, clamp, limit);
  }
}

}  // namespace tapegrad::optim
