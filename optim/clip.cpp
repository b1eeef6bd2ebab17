// Clipping of gradients.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/profiler.h>
#include <tapegrad/optim/clip.h>
#include <tapegrad/optim/gradient_transform.h>
#include <tapegrad/optim/internal/clipping.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace tapegrad::optim {

namespace {

constexpr std::string_view kPerExample = "clip_per_example";
constexpr int64_t kPiece = StepGradients::kBlock;

bool is_of_leaf(const Gradients::Entry& entry) { return entry.place.tape == TapeIndex::kLeaf; }

// Adds the squared norm of each row of x, which is contiguous.
void add_squares_of_rows(const Tensor& x, std::vector<double>& sums) {
  const auto rows = static_cast<int64_t>(sums.size());
  const int64_t width = rows == 0 ? 0 : x.numel() / rows, pieces = (width + kPiece - 1) / kPiece;
  std::vector<double, pool::Allocator<double>> parts(static_cast<std::size_t>(rows * pieces));
  const int64_t grain = kPiece / std::clamp<int64_t>(width, 1, kPiece);
  parallel_for_each(rows * pieces, grain, [&](int64_t i) {
    const int64_t row = i / pieces * width, first = i % pieces * kPiece, last = std::min(width, first + kPiece);
    parts[static_cast<std::size_t>(i)] = sum_of_squares(x.dtype(), x.raw_data(), row + first, row + last);
  });
  for (std::size_t i = 0; i < parts.size(); ++i) sums[i / static_cast<std::size_t>(pieces)] += parts[i];
}

int64_t count_examples(const Gradients& grads) {
  int64_t examples = -1;
  for (const Gradients::Entry& entry : grads) {
    if (!is_of_leaf(entry)) continue;
    const int64_t own = entry.grad.dim() == 0 ? -1 : entry.grad.size(0);
    if (examples < 0) examples = own;
    if (own < 0 || own != examples) {
      fail(kPerExample, "expected gradients per example, [{}, ...], got shape {}",
           examples < 0 ? "B" : fmt::format("{}", examples), entry.grad.shape());
    }
  }
  return std::max<int64_t>(examples, 0);
}

}  // namespace

double clip_grad_norm(Gradients& grads, double max_norm) { return StepGradients(grads).clip_norm(max_norm); }

double clip_grad_norm(Gradients& grads, double max_norm, const Optimizer& optimizer) {
  return StepGradients(grads, optimizer).clip_norm(max_norm);
}

std::vector<double> clip_per_example(Gradients& grads, double max_norm) {
  if (!(max_norm > 0)) fail(kPerExample, "expected max_norm > 0, got {}", max_norm);
  const ProfileScope scope(kPerExample, ProfilePhase::optimizer);
  const PauseRecording pause;
  const int64_t examples = count_examples(grads);
  std::vector<double> norms(static_cast<std::size_t>(examples)), factors;
  for (Gradients::Entry& entry : grads) {
    if (!is_of_leaf(entry)) continue;
    entry.grad = entry.grad.contiguous();
    add_squares_of_rows(entry.grad, norms);
  }
  for (std::size_t i = 0; i < norms.size(); ++i) {
    norms[i] = std::sqrt(norms[i]);
    require(std::isfinite(norms[i]), kPerExample,
            "the norm of the gradients of example {} is {} (Tape::trap_nan finds the operation)", i, norms[i]);
    factors.push_back(std::min(1.0, max_norm / (norms[i] + 1e-6)));
  }
  const Tensor scales = tensor(factors, {1, examples});
  for (Gradients::Entry& entry : grads) {
    if (!is_of_leaf(entry)) continue;
    Shape shape = entry.grad.shape();
    shape.erase(0);
    entry.grad = matmul(scales.to(entry.grad.dtype()), entry.grad.reshape({examples, shape.numel()})).reshape(shape);
  }
  return norms;
}

void add_noise(Gradients& grads, double std, Generator* generator) { StepGradients(grads).add_noise(std, generator); }

void clip_grad_value(Gradients& grads, double limit) { StepGradients(grads).clip_value(limit); }

}  // namespace tapegrad::optim
