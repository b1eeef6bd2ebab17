// Datasets: examples by index, parts of a dataset, and random splits.
#pragma once

#include <tapegrad/autograd/random.h>

#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapegrad::data {

/// Examples by index: `size()` is their number, and `dataset[i]` makes number i, in [0, size()). With prefetch another
/// thread calls operator[], one call at a time.
///
/// A dataset that makes a whole batch faster than one example after another can also have `batch(indices)`, with
/// `std::span<const int64_t> indices`: a DataLoader without its own collate function calls it instead.
template <class D>
concept Dataset = requires(const D& dataset, int64_t i) {
  { dataset.size() } -> std::convertible_to<int64_t>;
  dataset[i];
};

/// What dataset[i] returns.
template <Dataset D>
using ExampleOf = std::remove_cvref_t<decltype(std::declval<const D&>()[int64_t{}])>;

namespace detail {
/// Error "[data] expected an index from 0 to ..." unless every index is in [0, size).
void check_indices(std::span<const int64_t> indices, int64_t size);
/// Parts of these sizes of a random permutation of their sum.
std::vector<std::vector<int64_t>> random_parts(std::span<const int64_t> sizes, int64_t size, Generator& generator);
}  // namespace detail

/// The examples of another dataset that have these indices, in that order (PyTorch's Subset).
template <Dataset D>
class Subset {
 public:
  /// Error for an index outside the dataset.
  Subset(D dataset, std::vector<int64_t> indices) : dataset_(std::move(dataset)), indices_(std::move(indices)) {
    detail::check_indices(indices_, dataset_.size());
  }
  int64_t size() const { return static_cast<int64_t>(indices_.size()); }
  decltype(auto) operator[](int64_t i) const { return dataset_[indices_[static_cast<std::size_t>(i)]]; }
  const std::vector<int64_t>& indices() const { return indices_; }

 private:
  D dataset_;
  std::vector<int64_t> indices_;
};

/// Random parts of these sizes, without overlap, sampled as PyTorch's random_split samples them with `generator`. Each
/// part holds a copy of `dataset`, which should therefore be a cheap handle. Error unless the sizes add up to its size.
template <Dataset D>
std::vector<Subset<D>> random_split(const D& dataset, std::span<const int64_t> sizes,
                                    Generator& generator = default_generator()) {
  std::vector<Subset<D>> parts;
  for (std::vector<int64_t>& part : detail::random_parts(sizes, dataset.size(), generator)) {
    parts.emplace_back(dataset, std::move(part));
  }
  return parts;
}

}  // namespace tapegrad::data
