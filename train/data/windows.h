// Windows over a token sequence, the training data of a language model, and batches of them.
#pragma once

#include <tapegrad/train/data/data_loader.h>
#include <tapegrad/train/data/tokens.h>

#include <cstdint>
#include <span>
#include <vector>

namespace tapegrad::data {

/// int64 [B, T] each, or [T] for one window: targets[..., t] is the token that follows inputs[..., t].
struct TextBatch {
  Tensor inputs, targets;  ///< of equal shape
};

/// The windows of a sequence, a Dataset: number i has tokens i * stride ... i * stride + length - 1 as its inputs. With
/// several sequences, the windows of the first come first, and so on; no window crosses from one into the next.
class Windows {
 public:
  /// Error for a length or stride below 1, for no sequence, and for one of fewer than length + 1 tokens.
  Windows(Tokens tokens, int64_t length, int64_t stride) : Windows(std::vector{std::move(tokens)}, length, stride) {}
  Windows(std::vector<Tokens> texts, int64_t length, int64_t stride);

  int64_t size() const { return begins_.back(); }
  /// The number of windows of each sequence.
  std::vector<int64_t> sizes() const;
  int64_t length() const { return length_; }
  /// Copies `length` inputs and `length` targets. Error for a window outside [0, size).
  void copy(int64_t window, int64_t* inputs, int64_t* targets) const;

  /// Window number `window`: [T].
  TextBatch operator[](int64_t window) const;
  /// The windows with these numbers: [B, T].
  TextBatch batch(std::span<const int64_t> windows) const;

 private:
  std::vector<Tokens> texts_;
  std::vector<int64_t> begins_;  // the first window of each sequence, and the number of all
  int64_t length_, stride_;
};

/// Batches of windows, in the order in which PyTorch's DataLoader samples them.
using TextLoader = DataLoader<Windows>;

}  // namespace tapegrad::data
