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
  /// Samples the `size` indices of one epoch. The generator is for this epoch only; a checkpoint stores its seed.
  /// Empty: 0, 1, ... size - 1, without a random number.
  std::function<std::vector<int64_t>(Generator& generator)> order = {};
  /// An alternative to `order` for epochs that are too long for a list: takes the epoch's seed, which a checkpoint
  /// stores, and returns a function from a position in [0, size) to an index.
  std::function<std::function<int64_t(int64_t position)>(uint64_t seed)> index_at = {};
};

/// 0, 1, ... size - 1.
Sampler sequential(int64_t size);

/// A random permutation of 0 ... size - 1, as PyTorch's RandomSampler samples it. With `count` >= 0, that many indices:
/// whole permutations first, then a part of another one.
Sampler shuffled(int64_t size, int64_t count = -1);

/// A random permutation of 0 ... size - 1 that takes no memory, for any size (permutation.h). Its order is not
/// PyTorch's.
Sampler permuted(int64_t size);

/// A random order of several parts, which takes no memory. The first sizes[0] indices are those of the first part, and
/// so on. In an epoch, each index of part p occurs weights[p] times. For the fraction of a weight, each epoch samples a
/// random share of the indices: with 2.25, each index occurs twice, and a quarter of them a third time. Error for
/// weights that are not positive, and if an epoch would have no index of a part, or 2^62 and more.
Sampler mixed(const std::vector<int64_t>& sizes, const std::vector<double>& weights);

/// `count` indices below `size`, sampled independently, as PyTorch's RandomSampler(replacement=True) samples them.
Sampler with_replacement(int64_t size, int64_t count);

/// A random order whose batches hold examples of similar length, so that little padding is needed. lengths[i] is the
/// length of example i. A permutation is cut into pools of `pool` batches, each pool is sorted by length and cut into
/// batches, and the batches are shuffled; a last batch that is not full stays last. `batch_size` must be the loader's.
Sampler by_length(std::vector<int64_t> lengths, int64_t batch_size, int64_t pool = 100);

}  // namespace tapegrad::data
