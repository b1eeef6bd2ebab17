#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/limits.h>
#include <tapegrad/train/data/dataset.h>

namespace tapegrad::data::detail {

void check_indices(std::span<const int64_t> indices, int64_t size) {
  for (const int64_t index : indices) {
    if (index < 0 || index >= size) {
      fail("data",
           fmt::format("expected an index from 0 to {} (the dataset has {} examples), got {}", size - 1, size, index));
    }
  }
}

std::vector<std::vector<int64_t>> random_parts(std::span<const int64_t> sizes, int64_t size, Generator& generator) {
  int64_t sum = 0;
  for (const int64_t part : sizes) {
    require_in("random_split", "every size", part, kNotNegative);
    sum += part;
  }
  if (sum != size) fail("random_split", fmt::format("expected sizes that add up to {}, got {}", size, sum));
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

}  // namespace tapegrad::data::detail
