#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/train/data/tensor_dataset.h>

#include <vector>

namespace tapegrad::data {

TensorDataset::TensorDataset(Tensor inputs, Tensor targets) : inputs_(std::move(inputs)), targets_(std::move(targets)) {
  if (inputs_.dim() == 0 || targets_.dim() == 0 || inputs_.size(0) != targets_.size(0)) {
    fail("TensorDataset", fmt::format("expected inputs and targets with one row per example, got {} and {}",
                                      str(inputs_.shape()), str(targets_.shape())));
  }
}

std::pair<Tensor, Tensor> TensorDataset::batch(std::span<const int64_t> rows) const {
  const Tensor index = tensor(std::vector<int64_t>(rows.begin(), rows.end()), {static_cast<int64_t>(rows.size())});
  return {index_select(inputs_, 0, index), index_select(targets_, 0, index)};
}

}  // namespace tapegrad::data
