#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/tasks/data/windows.h>

#include <array>

namespace tapegrad::data {

Windows::Windows(Tokens tokens, int64_t length, int64_t stride)
    : tokens_(std::move(tokens)), length_(length), stride_(stride) {
  if (length < 1 || stride < 1) {
    fail("text", fmt::format("length and stride of windows must be at least 1, got {} and {}", length, stride));
  }
  if (tokens_.size() <= length) {
    fail("text", fmt::format("the text has {} tokens, a window of {} needs {} (a longer text, or a shorter context)",
                             tokens_.size(), length, length + 1));
  }
  size_ = (tokens_.size() - length - 1) / stride + 1;
}

void Windows::copy(int64_t window, int64_t* inputs, int64_t* targets) const {
  if (window < 0 || window >= size_) {
    fail("text", fmt::format("expected a window from 0 to {}, got {}", size_ - 1, window));
  }
  tokens_.copy(window * stride_, length_, inputs);
  std::copy_n(inputs + 1, length_ - 1, targets);
  tokens_.copy(window * stride_ + length_, 1, targets + length_ - 1);
}

TextBatch Windows::operator[](int64_t window) const {
  const TextBatch one = batch(std::array{window});
  return {one.inputs[0], one.targets[0]};
}

TextBatch Windows::batch(std::span<const int64_t> windows) const {
  const Shape shape{static_cast<int64_t>(windows.size()), length_};
  const TextBatch out{Tensor::empty(shape, kInt64), Tensor::empty(shape, kInt64)};
  int64_t* inputs = out.inputs.mutable_data<int64_t>();
  int64_t* targets = out.targets.mutable_data<int64_t>();
  for (const int64_t window : windows) {
    copy(window, inputs, targets);
    inputs += length_;
    targets += length_;
  }
  return out;
}

}  // namespace tapegrad::data
