#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/limits.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/train/data/dataset.h>
#include <tapegrad/train/data/tensor_dataset.h>

#include <vector>

namespace tapegrad::data {

void detail::check_indices(std::span<const int64_t> indices, int64_t size) {
  for (const int64_t index : indices) {
    if (index < 0 || index >= size) {
      fail("data", "expected an index from 0 to {} (the dataset has {} examples), got {}", size - 1, size, index);
    }
  }
}

std::vector<std::vector<int64_t>> detail::random_parts(std::span<const int64_t> sizes, int64_t size,
                                                       Generator& generator) {
  int64_t sum = 0;
  for (const int64_t part : sizes) {
    require_in("random_split", "every size", part, kNotNegative);
    sum += part;
  }
  if (sum != size) fail("random_split", "expected sizes that add up to {}, got {}", size, sum);
  std::vector<int64_t> order(static_cast<std::size_t>(size));
  generator.randperm(order.data(), size);
  std::vector<std::vector<int64_t>> parts;
  auto at = order.begin();
  for (const int64_t part : sizes) {
    parts.emplace_back(at, at + part);
    at += part;
  }
  return parts;
}

TensorDataset::TensorDataset(Tensor inputs, Tensor targets) : inputs_(std::move(inputs)), targets_(std::move(targets)) {
  if (inputs_.dim() == 0 || targets_.dim() == 0 || inputs_.size(0) != targets_.size(0)) {
    fail("TensorDataset", "expected inputs and targets with one row per example, got {} and {}", inputs_.shape(),
         targets_.shape());
  }
}

std::pair<Tensor, Tensor> TensorDataset::batch(std::span<const int64_t> rows) const {
  const Tensor index = tensor(std::vector<int64_t>(rows.begin(), rows.end()), {static_cast<int64_t>(rows.size())});
  return {index_select(inputs_, 0, index), index_select(targets_, 0, index)};
}

}  // namespace tapegrad::data
