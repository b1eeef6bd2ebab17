// Positions by a depthwise convolution of the embeddings.
#pragma once

#include <tapegrad/nn/kv_cache.h>
#include <tapegrad/nn/module.h>

namespace tapegrad::nn {

struct ConvPositionOptions {
  int64_t width = 3;  ///< of the convolution; odd
};

/// P(i) = sum over k from -K to K of w(k) x(i+k), with a separate w for every channel; with `causal`, over k from -2K
/// to 0. Zero padding makes the ends recognisable. Chu et al. 2021, "Conditional Positional Encodings".
struct ConvPositions {
  ConvPositions(int64_t dim, int64_t width, bool causal);  ///< width = 2K + 1
  Tensor operator()(const Tensor& x, const Tensor& mask = {}, KVCache* cache = nullptr) const;
  void visit(auto&& field) { field("weight", weight); }

  Parameter weight;  // [dim, 1, width], uniform in +-1/sqrt(width)
  bool causal;       ///< no later tokens are read
};

}  // namespace tapegrad::nn
