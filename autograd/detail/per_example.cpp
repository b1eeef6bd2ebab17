// The two forms of gradients per example; scales of rows, and the comparison of gradients with them.
// build: -Os
#include <tapegrad/autograd/detail/per_example.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/leaf_names.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/recording.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace tapegrad::detail {

Tensor powers_of_two(int64_t count, DType dtype) {
  std::vector<double> scales;
  uint64_t state = 0;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    scales.push_back(std::ldexp(1.0, static_cast<int>((state >> 33) % 7) - 3));
  }
  return tensor(scales, {count}).to(dtype);
}

int64_t first_not_scaled(const Tensor& once, const Tensor& scaled, const Tensor& scales) {
  const int64_t rows = scales.numel();
  if (once.numel() == 0) return -1;
  const PauseRecording pause;
  const Tensor before = once.detach().reshape({rows, -1}) * scales.reshape({rows, 1}).to(once.dtype()),
               after = scaled.detach().reshape({rows, -1});
  const Tensor largest = maximum(amax(abs(before), 1), amax(abs(after), 1));
  const std::vector<bool> differ =
      (amax(abs(after - before), 1) > largest * (once.dtype() == kFloat64 ? 1e-10 : 1e-4)).to_vector<bool>();
  const auto found = std::find(differ.begin(), differ.end(), true);
  return found == differ.end() ? -1 : found - differ.begin();
}

namespace {

[[noreturn]] void fail_summed(const Op& op, const Shape& input, const Shape& grad, int64_t examples,
                              const Tensor& leaf) {
  fail(op,
       "cannot compute gradients per example for {} of shape {}: expected one gradient per example, got one of shape "
       "{} for all {}{}",
       leaf.defined() ? "a leaf" : "an operand", input, grad, examples,
       leaf.defined() ? place_of(leaf.tape_index()) : "");
}

// 1 axes before those of `shape`.
Shape led_by(int64_t first, int axes, const Shape& shape) {
  Shape led{first};
  for (int i = 0; i < axes; ++i) led.push_back(1);
  for (const int64_t size : shape) led.push_back(size);
  return led;
}

}  // namespace

Tensor in_form(const Op& op, const Tensor& grad, const Shape& input, int64_t examples, const Tensor& leaf) {
  const Shape& shape = grad.shape();
  const int added = shape.rank() - input.rank();
  const bool separates = added > 0 || (added == 0 && input.rank() > 0 && input[0] == 1 && shape[0] != 1);
  if (!separates) {
    if (leaf.defined() || input.numel() % examples != 0) fail_summed(op, input, shape, examples, leaf);
    return sum_to(grad, input);
  }
  require(shape[0] % examples == 0, op,
          "expected a first axis that is a multiple of the {} examples where an input of shape {} meets them, got a "
          "gradient of shape {}",
          examples, input, shape);
  // [N, ...] -> [examples, N / examples, ...] -> [examples, 1 for each added axis, the input's axes]
  Shape split = shape;
  split[0] = shape[0] / examples;
  split.insert(0, examples);
  return sum_to(grad.reshape(split), led_by(examples, added, input)).reshape(led_by(examples, 0, input));
}

Tensor joined(const Op& op, std::vector<Tensor>& grads, const Shape& input) {
  Tensor zero;
  for (Tensor& grad : grads) {
    if (!grad.defined()) {
      if (!zero.defined()) {
        for (const Tensor& other : grads)
          if (other.defined()) zero = zeros(input, other.dtype());
        if (!zero.defined()) return {};
      }
      grad = zero;
    }
    require(broadcasts_to(input, grad.shape()), op, "backward returned a gradient of shape {} for an input of shape {}",
            grad.shape(), input);
    grad = sum_to(grad, input);
  }
  return stack(grads);
}

void require_separate(std::string_view where, const Gradients& once, const Gradients& scaled, const Tensor& scales) {
  for (std::size_t i = 0; i < once.size(); ++i) {
    const auto& [place, grad] = once.begin()[i];
    const int64_t example = first_not_scaled(grad, scaled.begin()[i].grad, scales);
    if (example < 0) continue;
    const std::string named = leaf_name(place), called = named.empty() ? "" : fmt::format(" \"{}\"", named);
    fail(where,
         "the gradient of the leaf{} [{}, ...] for example {} has parts of other losses: rows are not in the order of "
         "the examples, or the losses depend on several examples",
         called, scales.numel(), example);
  }
}

}  // namespace tapegrad::detail
