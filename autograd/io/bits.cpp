// Hashes tensors in the order of their names.
#include <fmt/format.h>
#include <tapegrad/autograd/io/bits.h>
#include <tapegrad/autograd/io/internal/checksum.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tapegrad {

static_assert(std::endian::native == std::endian::little, "the hash is of little-endian values");

std::string bits_of(const NamedTensors& tensors) {
  std::vector<const NamedTensor*> sorted;
  for (const NamedTensor& entry : tensors) sorted.push_back(&entry);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const NamedTensor* a, const NamedTensor* b) { return a->name < b->name; });
  uint64_t hash = 0;
  for (const NamedTensor* entry : sorted) {
    const Tensor values = entry->tensor.detach().contiguous();
    const std::string head = fmt::format("{} {} {}", entry->name, name(values.dtype()), str(values.shape()));
    hash = checksum(std::as_bytes(std::span(head)), hash);
    const auto size = static_cast<std::size_t>(values.numel() * item_size(values.dtype()));
    hash = checksum({static_cast<const std::byte*>(values.raw_data()), size}, hash);
  }
  const std::string digits = fmt::format("{:016x}", hash);
  const std::string_view d = digits;
  return fmt::format("{} {} {} {}", d.substr(0, 4), d.substr(4, 4), d.substr(8, 4), d.substr(12));
}

}  // namespace tapegrad
