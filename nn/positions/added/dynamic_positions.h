// Positions by a network that reads the position and its context.
#pragma once

#include <tapegrad/nn/kv_cache.h>
#include <tapegrad/nn/linear.h>

namespace tapegrad::nn {

struct DynamicPositionOptions {
  int64_t size = 0;  ///< hidden units of the network; 0: the width of the model
};

/// P(i) = MLP(i, context) = W2 gelu(W1 [s(i), c(i)] + b1) + b2, where s(i) is the sinusoidal vector of i, and the
/// context c(i) is the mean of the embeddings; with `causal`, of those up to i.
struct DynamicPositions {
  DynamicPositions(int64_t dim, int64_t size, bool causal);
  Tensor operator()(const Tensor& x, int64_t start = 0, const Tensor& mask = {}, KVCache* cache = nullptr) const;
  void visit(auto&& field) {
    field("w_1", w_1);
    field("w_2", w_2);
  }

  Linear w_1, w_2;  ///< the network: width -> size -> width
  bool causal;      ///< no later tokens are read
};

}  // namespace tapegrad::nn
