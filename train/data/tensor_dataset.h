// A dataset whose examples are rows of two tensors.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <cstdint>
#include <span>
#include <utility>

namespace tapegrad::data {

/// Example i is the pair of inputs[i] and targets[i], as in PyTorch's TensorDataset. A batch is made at once, from all
/// its rows. Copies share the tensors.
class TensorDataset {
 public:
  /// inputs [N, ...], targets [N, ...]. Error if they have no axis, or different numbers of rows.
  TensorDataset(Tensor inputs, Tensor targets);
  int64_t size() const { return inputs_.size(0); }
  std::pair<Tensor, Tensor> operator[](int64_t i) const { return {inputs_[i], targets_[i]}; }
  /// Inputs [B, ...] and targets [B, ...] of these rows. Error for a row outside [0, size).
  std::pair<Tensor, Tensor> batch(std::span<const int64_t> rows) const;
  const Tensor& inputs() const { return inputs_; }
  const Tensor& targets() const { return targets_; }

 private:
  Tensor inputs_, targets_;
};

}  // namespace tapegrad::data
