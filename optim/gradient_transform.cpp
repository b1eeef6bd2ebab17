// Transforms of gradients, on whole gradients or on those elements that a process updates.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/profiler.h>
#include <tapegrad/optim/gradient_transform.h>
#include <tapegrad/optim/internal/clipping.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::optim {

namespace {

bool belongs_to_leaf(const Gradients::Entry& entry) { return entry.place.tape == TapeIndex::kLeaf; }

Gradients& without_ignored(Gradients& grads, const Optimizer& optimizer) {
  grads.erase_if(
      [&](const Gradients::Entry& entry) { return belongs_to_leaf(entry) && optimizer.ignores(entry.place); });
  return grads;
}

// The sums of squares of all blocks, in the order of sum_of_squares(): an element's lane is its place modulo 8.
void add_squares(const RowGradient& grad, double* squares) {
  if (grad.values.numel() == 0) return;
  double lanes[8] = {};
  int64_t block = 0;
  const auto end_block = [&](int64_t next) {
    squares[block] = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    std::fill_n(lanes, 8, 0.0);
    block = next;
  };
  const Tensor values = grad.values.contiguous();
  with_floating_type(values.dtype(), [&]<class T>(T) {
    const T* x = values.data<T>();
    for (int64_t i = 0; i < grad.ids.numel(); ++i) {
      int64_t at = grad.ids.data<int64_t>()[i] * values.size(1);
      for (int64_t j = values.size(1); j > 0; --j, ++at, ++x) {
        if (at / StepGradients::kBlock != block) end_block(at / StepGradients::kBlock);
        lanes[at % 8] += static_cast<double>(*x) * static_cast<double>(*x);
      }
    }
  });
  end_block(0);
}

}  // namespace

void ClipNorm::check() const {
  if (!(max_norm > 0)) fail("clip_grad_norm", "expected max_norm > 0, got {}", max_norm);
}

void ClipValue::check() const {
  if (!(limit > 0)) fail("clip_grad_value", "expected a limit > 0, got {}", limit);
}

void GradientNoise::check() const {
  if (!(std >= 0)) fail("add_noise", "expected a standard deviation of at least 0, got {}", std);
}

std::string ClipNorm::text() const { return fmt::format("clip_norm {}", max_norm); }
std::string ClipValue::text() const { return fmt::format("clip_value {}", limit); }
std::string GradientNoise::text() const { return fmt::format("noise {}", std); }

StepGradients::StepGradients(Gradients& grads) {
  parts_.reserve(grads.size());
  for (Gradients::Entry& entry : grads.entries()) {
    if (!belongs_to_leaf(entry)) continue;
    RowGradient* const rows = grads.rows(entry);
    const int64_t numel = rows ? rows->rows * rows->values.size(1) : entry.grad.numel();
    const DType dtype = rows ? rows->values.dtype() : entry.grad.dtype();
    parts_.push_back({.grad = &entry.grad, .numel = numel, .dtype = dtype, .size = numel, .rows = rows});
  }
}

StepGradients::StepGradients(Gradients& grads, const Optimizer& optimizer)
    : StepGradients(without_ignored(grads, optimizer)) {}

// The memory of the gradient, which is copied first if something else refers to it.
void* StepGradients::writable(const Part& part) {
  Tensor& grad = *part.grad;
  if (part.in_rows()) {
    grad = part.rows->dense();
    *part.rows = {};
  }
  if (!grad.unique() || !grad.is_contiguous() || grad.tape_index().tape != 0) {
    const PauseRecording pause;
    grad = grad.clone();
  }
  return grad.mutable_raw_data();
}

void StepGradients::rewrite(void (*kernel)(DType, void*, double, int64_t, int64_t), double argument) {
  for (const Part& part : parts_) {
    if (part.size == 0) continue;
    if (part.in_rows()) {
      Tensor& values = part.rows->values;
      *part.grad = Tensor();
      values = values.clone();
      kernel(part.dtype, values.mutable_raw_data(), argument, 0, values.numel());
      continue;
    }
    void* const x = writable(part);
    parallel_for(part.size, kBlock,
                 [&](int64_t begin, int64_t end) { kernel(part.dtype, x, argument, part.at + begin, part.at + end); });
  }
}

double StepGradients::norm() const {
  const PauseRecording pause;
  int64_t count = 0;
  const auto blocks_of = [](const Part& part) { return (part.numel + kBlock - 1) / kBlock; };
  for (const Part& part : parts_) count += blocks_of(part);
  const Tensor blocks = zeros({count}, kFloat64);
  double* squares = blocks.mutable_data<double>();
  for (const Part& part : parts_) {
    if (part.in_rows()) {
      add_squares(*part.rows, squares);
    } else if (part.size > 0) {
      const Tensor packed = part.grad->detach().contiguous();
      parallel_for(part.size, kBlock, [&](int64_t begin, int64_t end) {
        squares[(part.begin + begin) / kBlock] =
            sum_of_squares(part.dtype, packed.raw_data(), part.at + begin, part.at + end);
      });
    }
    squares += blocks_of(part);
  }
  const Tensor all = over_processes(blocks);  // each block belongs to one process
  const double* next = all.data<double>();
  double sum = 0;
  for (const Part& part : parts_) {
    double own = 0;
    for (int64_t i = blocks_of(part); i > 0; --i) own += *next++;
    sum += own;
  }
  return std::sqrt(sum);
}

double StepGradients::clip_norm(double max_norm) {
  ClipNorm{max_norm}.check();
  const ProfileScope scope("clip_grad_norm", ProfilePhase::optimizer);
  const double before = norm(), factor = max_norm / (before + 1e-6);
  if (!std::isfinite(before))
    fail("clip_grad_norm", "the norm of the gradients is {} (Tape::trap_nan finds the operation)", before);
  if (clipped_norm_ == 0) clipped_norm_ = before;
  if (factor < 1) rewrite(tapegrad::optim::scale, factor);
  return before;
}

void StepGradients::clip_value(double limit) {
  ClipValue{limit}.check();
  const ProfileScope scope("clip_grad_value", ProfilePhase::optimizer);
  rewrite(tapegrad::optim::clamp, limit);
}

// Every process draws the noise of whole gradients, and adds that of its elements.
void StepGradients::add_noise(double std, Generator* generator) {
  GradientNoise{std}.check();
  const PauseRecording pause;
  for (const Part& part : parts_) {
    const Tensor noise = randn({part.numel}, part.dtype, generator) * std;
    if (part.size == 0) continue;
    void* const elements = writable(part);
    with_floating_type(part.dtype, [&](auto t) {
      auto* const x = static_cast<decltype(t)*>(elements) + part.at;
      const auto* const added = noise.data<decltype(t)>() + part.begin;
      for (int64_t i = 0; i < part.size; ++i) x[i] += added[i];
    });
  }
}

}  // namespace tapegrad::optim
