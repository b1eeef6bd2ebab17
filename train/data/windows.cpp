#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/train/data/windows.h>

#include <algorithm>
#include <array>

namespace tapegrad::data {

Windows::Windows(std::vector<Tokens> texts, int64_t length, int64_t stride)
    : texts_(std::move(texts)), begins_{0}, length_(length), stride_(stride) {
  if (length < 1 || stride < 1) {
    fail("text", "expected length and stride of windows >= 1, got {} and {}", length, stride);
  }
  if (texts_.empty()) fail("text", "expected one or more sequences of tokens, got none");
  for (const Tokens& tokens : texts_) {
    if (tokens.size() <= length) {
      fail("text",
           "expected a text of at least {2} tokens for windows of {1}, got {0} (a longer text, or a shorter context)",
           tokens.size(), length, length + 1);
    }
    begins_.push_back(begins_.back() + (tokens.size() - length - 1) / stride + 1);
  }
}

std::vector<int64_t> Windows::sizes() const {
  std::vector<int64_t> sizes;
  for (std::size_t i = 0; i < texts_.size(); ++i) sizes.push_back(begins_[i + 1] - begins_[i]);
  return sizes;
}

void Windows::copy(int64_t window, int64_t* inputs, int64_t* targets) const {
  if (window < 0 || window >= size()) {
    fail("text", "expected a window from 0 to {}, got {}", size() - 1, window);
  }
  const auto text = static_cast<std::size_t>(std::ranges::upper_bound(begins_, window) - begins_.begin()) - 1;
  std::vector<int64_t> both(static_cast<std::size_t>(length_) + 1);  // inputs and the last target, read at once
  texts_[text].copy((window - begins_[text]) * stride_, length_ + 1, both.data());
  std::copy_n(both.data(), length_, inputs);
  std::copy_n(both.data() + 1, length_, targets);
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
