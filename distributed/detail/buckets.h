// Which process updates which elements, and which elements travel together.
#pragma once

#include <tapegrad/autograd/named_tensor.h>
#include <tapegrad/optim/gradient_transform.h>

#include <cstdint>
#include <vector>

namespace tapegrad::distributed::detail {

/// Parameters are cut between processes at multiples of this many elements.
inline constexpr int64_t kBlock = optim::StepGradients::kBlock;

/// Elements [begin, end) of a parameter.
struct Piece {
  std::size_t parameter = 0;
  int64_t begin = 0, end = 0;
  int64_t at = 0;  ///< where they are among the elements of their bucket and process
  int64_t size() const { return end - begin; }
};

/// Parameters whose gradients travel together.
struct Bucket {
  DType dtype = kFloat32;
  std::vector<std::size_t> parameters;
  std::vector<std::vector<Piece>> pieces;  ///< by rank; at most one of each parameter
  std::vector<int64_t> first, count;       ///< by rank: where its elements begin in the bucket, and how many there are
  int64_t total = 0;
};

/// Divides the parameters, the last first, since backward reaches them in that order. Frozen ones are left out. With
/// `cut`, parameters are cut between processes.
inline std::vector<Bucket> make_buckets(const NamedTensors& parameters, int size, int64_t bucket_bytes, bool cut) {
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
  const auto processes = static_cast<std::size_t>(size);
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    Bucket& bucket = buckets[b];
    bucket.pieces.resize(processes);
    bucket.first.resize(processes);
    bucket.count.resize(processes);
    int64_t before = 0;
    for (const std::size_t p : bucket.parameters) {
      const int64_t n = parameters[p].tensor.numel(), block = cut ? kBlock : n;
      for (int64_t begin = 0; begin < n; begin += block) {
        const int64_t end = begin + block < n ? begin + block : n;
        // The process that the middle of the block belongs to; another first process in each bucket.
        const int64_t middle = (before + begin + (end - begin) / 2) * size / bucket.total;
        const auto owner = static_cast<std::size_t>((middle + static_cast<int64_t>(b)) % size);
        std::vector<Piece>& own = bucket.pieces[owner];
        if (!own.empty() && own.back().parameter == p && own.back().end == begin) {
          own.back().end = end;
        } else {
          own.push_back({.parameter = p, .begin = begin, .end = end, .at = bucket.count[owner]});
        }
        bucket.count[owner] += end - begin;
      }
      before += n;
    }
    for (std::size_t r = 1; r < processes; ++r) bucket.first[r] = bucket.first[r - 1] + bucket.count[r - 1];
  }
  return buckets;
}

}  // namespace tapegrad::distributed::detail
