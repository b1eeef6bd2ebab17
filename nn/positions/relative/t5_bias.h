// One learned number per head and bucket of distances. Raffel et al. 2020.
#pragma once

#include <tapegrad/nn/module.h>

namespace tapegrad::nn {

struct T5Options {
  int64_t buckets = 32;    ///< of distances
  int64_t distance = 128;  ///< distances of at least this share the last bucket
};

/// One learned number per head and bucket of distances, added to the scores; one table per stack of layers. Small
/// distances have a bucket each, larger ones share buckets of growing width.
struct T5Bias {
  T5Bias() = default;  ///< none
  T5Bias(int64_t buckets, int64_t max_distance, int64_t heads, bool both_directions);
  Tensor operator()(int64_t queries, int64_t keys, int64_t start = 0) const;  ///< [1, H, T, S]
  void visit(auto&& field) { field("weight", weight); }

  Parameter weight;          // [buckets, H], xavier-uniform
  int64_t max_distance = 0;  ///< T5Options::distance
  // Half of the buckets are for keys after the query; otherwise these count as distance 0.
  bool both_directions = false;
};
/// The bucket of a distance (the key's position minus the query's).
int64_t t5_bucket(int64_t distance, int64_t buckets, int64_t max_distance, bool both_directions);

}  // namespace tapegrad::nn
