// Checks and steps that positional encodings share.
#include <tapegrad/autograd/convolution.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/positions/detail/kind.h>

#include <algorithm>

namespace tapegrad::nn::detail {

int64_t checked_dim(int64_t dim) {
  require_positive(kPositions, "the size of a vector", dim);
  return dim;
}

void require_causal(bool causal, const KVCache* cache) {
  if (cache && !causal) fail(kPositions, "expected causal positions with a cache, got others");
}

Shape table_shape(int64_t max_positions, int64_t dim) {
  require_positive(kPositions, "max_positions", max_positions);
  return {max_positions, checked_dim(dim)};
}

void require_within(int64_t length, int64_t max_positions) {
  require(length <= max_positions, kPositions, "a sequence of length {} is longer than max_position_embeddings {}",
          length, max_positions);
}

Tensor without_padding(const Tensor& x, const Tensor& mask) {
  return mask.defined() ? masked_fill(x, logical_not(mask), 0) : x;
}

Tensor with_surroundings(const Tensor& x, int64_t width, bool causal, KVCache* cache) {
  const int64_t before = causal ? width - 1 : width / 2;
  if (!cache) return pad(x, {0, 0, before, width - 1 - before});
  const Tensor all = cache->append_history({x.unsqueeze(1), {}}).keys.select(1, 0);  // [B, S, C]
  const int64_t seen = std::min(all.size(1), x.size(1) + before);
  return pad(narrow(all, 1, all.size(1) - seen, seen), {0, 0, x.size(1) + before - seen, 0});
}

Tensor convolved(const Tensor& x, const Tensor& weight, int64_t groups) {
  return conv1d(x.transpose(1, 2), weight, {}, {.groups = groups}).transpose(1, 2);
}

}  // namespace tapegrad::nn::detail
