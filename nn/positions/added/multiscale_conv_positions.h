// Positions by two convolutions of the embeddings.
#pragma once

#include <tapegrad/nn/convolution.h>
#include <tapegrad/nn/kv_cache.h>

namespace tapegrad::nn {

/// P(i) = [Conv3(x)(i), Conv5(x)(i)]: two convolutions over all channels, of widths 3 and 5. Each produces half of the
/// channels; if their number is odd, the first one produces one more.
struct MultiscaleConvPositions {
  MultiscaleConvPositions(int64_t dim, bool causal);
  Tensor operator()(const Tensor& x, const Tensor& mask = {}, KVCache* cache = nullptr) const;
  void visit(auto&& field) {
    field("narrow", narrow);
    field("wide", wide);
  }

  Conv1d narrow, wide;  // without biases
  bool causal;          ///< no later tokens are read
};

}  // namespace tapegrad::nn
