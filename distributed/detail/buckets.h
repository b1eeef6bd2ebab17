// Which process updates which elements, and which elements are sent together.
#pragma once

#include <tapegrad/autograd/named_tensor.h>
#include <tapegrad/distributed/detail/tree.h>
#include <tapegrad/optim/gradient_transform.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace tapegrad::distributed::detail {

/// Parameters are divided between processes at multiples of this many elements.
inline constexpr int64_t kBlock = optim::StepGradients::kBlock;

/// Elements [begin, end) of a parameter.
struct Piece {
  std::size_t parameter = 0;
  int64_t begin = 0, end = 0;
  int64_t position = 0;  ///< of the process that updates them (Rounds)
  int64_t at = 0;        ///< their offset among the elements of their bucket
  int64_t size() const { return end - begin; }
};

/// Parameters whose gradients are sent together.
struct Bucket {
  DType dtype = kFloat32;
  std::vector<std::size_t> parameters;
  std::vector<Piece> pieces;  ///< by position; at most one of each parameter and position
  int64_t total = 0;

  /// The pieces of these positions.
  std::span<const Piece> of(const Terms& positions) const {
    const auto first = [this](int64_t position) {
      return std::ranges::lower_bound(pieces, position, {}, &Piece::position);
    };
    return {first(positions.begin), first(positions.end)};
  }
  /// Their elements in the bucket.
  Terms elements(const Terms& positions) const {
    const std::span<const Piece> found = of(positions);
    if (found.empty()) return {};
    return {found.front().at, found.back().at + found.back().size()};
  }
};

/// Divides the parameters into buckets, the last one first, since backward reaches them in that order. Frozen
/// parameters are left out. With `cut`, one parameter may be divided between processes.
inline std::vector<Bucket> make_buckets(const NamedTensors& parameters, int64_t size, int64_t bucket_bytes, bool cut) {
  std::vector<Bucket> buckets;
  for (std::size_t p = parameters.size(); p-- > 0;) {
    const Tensor& x = parameters[p].tensor;
    if (x.is_frozen()) continue;
    const bool fits = !buckets.empty() && buckets.back().dtype == x.dtype() &&
                      (buckets.back().total + x.numel()) * item_size(x.dtype()) <= bucket_bytes;
    if (!fits) buckets.emplace_back().dtype = x.dtype();
    buckets.back().parameters.push_back(p);
    buckets.back().total += x.numel();
  }
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    Bucket& bucket = buckets[b];
    int64_t before = 0;
    for (const std::size_t p : bucket.parameters) {
      const int64_t n = parameters[p].tensor.numel(), block = cut ? kBlock : n;
      for (int64_t begin = 0; begin < n; begin += block) {
        const int64_t end = begin + block < n ? begin + block : n;
        // The process whose share of the bucket contains the block's middle; each bucket begins with another process.
        const int64_t middle = (before + begin + (end - begin) / 2) * size / bucket.total;
        const int64_t position = (middle + static_cast<int64_t>(b)) % size;
        Piece* const last = bucket.pieces.empty() ? nullptr : &bucket.pieces.back();
        if (last && last->parameter == p && last->position == position) {
          last->end = end;
        } else {
          bucket.pieces.push_back({.parameter = p, .begin = begin, .end = end, .position = position});
        }
      }
      before += n;
    }
    std::ranges::stable_sort(bucket.pieces, {}, &Piece::position);
    int64_t at = 0;
    for (Piece& piece : bucket.pieces) at = (piece.at = at) + piece.size();
  }
  return buckets;
}

}  // namespace tapegrad::distributed::detail
