// Samplers: the order in which an epoch visits the examples of a dataset.
#pragma once

#include <tapegrad/autograd/random.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace tapegrad::data {

/// The order of one epoch. For your own order, fill in the fields.
struct Sampler {
  /// Indices of one epoch.
  int64_t size = 0;
  /// Draws the `size` indices of one epoch. The generator is for this epoch only; a checkpoint stores its seed. Empty:
  /// 0, 1, ... size - 1, without a draw.
  std::function<std::vector<int64_t>(Generator& generator)> order = {};
};

/// 0, 1, ... size - 1.
Sampler sequential(int64_t size);

/// A random permutation of 0 ... size - 1, as PyTorch's RandomSampler draws it. With `count` >= 0, that many indices:
/// whole permutations first, then a part of another one.
Sampler shuffled(int64_t size, int64_t count = -1);

/// `count` indices below `size`, drawn independently, as PyTorch's RandomSampler(replacement=True) draws them.
Sampler with_replacement(int64_t size, int64_t count);

/// A random order whose batches hold examples of similar length, so that little padding is needed. lengths[i] is the
/// length of example i. A permutation is cut into pools of `pool` batches, each pool is sorted by length and cut into
/// batches, and the batches are shuffled; a last batch that is not full stays last. `batch_size` must be the loader's.
Sampler by_length(std::vector<int64_t> lengths, int64_t batch_size, int64_t pool = 100);

}  // namespace tapegrad::data
