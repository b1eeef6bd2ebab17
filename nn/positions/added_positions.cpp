// Adds a positional encoding to embeddings.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/added_positions.h>

namespace tapegrad::nn {

AddedPositions::AddedPositions(Positions positions, int64_t max_positions, int64_t dim, const PositionOptions& options,
                               bool causal) {
  options.check();
  encoding = kind_of(positions).added({.width = dim, .max_positions = max_positions, .causal = causal}, options);
}

Tensor AddedPositions::operator()(const Tensor& x, int64_t start, const Tensor& mask, KVCache* cache) const {
  if (!encoding.defined() || x.numel() == 0) return x;
  return x + (*encoding)(x, start, mask, cache);
}

}  // namespace tapegrad::nn
