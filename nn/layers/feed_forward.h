// The feed-forward block, and the residual connection around a block. Tutorial 003, section 8.4.1.
#pragma once

#include <tapegrad/nn/activation.h>
#include <tapegrad/nn/dropout.h>
#include <tapegrad/nn/linear.h>
#include <tapegrad/nn/norm.h>

namespace tapegrad::nn {

/// w_2(dropout(activation(w_1(x)))). Weights start xavier-uniform, biases 0.
struct FeedForward {
  FeedForward(int64_t hidden_size, int64_t intermediate_size, double dropout_prob = 0,
              Activation activation = Activation::relu);
  Tensor operator()(const Tensor& x) const;  ///< [..., C] -> [..., C]
  std::string describe() const;
  void visit(auto&& field) {
    field("w_1", w_1);
    field("w_2", w_2);
    field("dropout", dropout);
  }

  Linear w_1, w_2;        ///< the first and the second layer
  Dropout dropout;        ///< between the layers
  Activation activation;  ///< after w_1
};

/// x + dropout(block(norm(x))): normalised before the block (Pre-LN); with post_norm norm(x + dropout(block(x))).
struct SublayerConnection {
  SublayerConnection(int64_t hidden_size, double dropout_prob, double layer_norm_eps, bool post_norm = false);
  Tensor operator()(const Tensor& x, auto&& block) const {
    return post_norm ? norm(x + dropout(block(x))) : x + dropout(block(norm(x)));
  }
  void visit(auto&& field) {
    field("norm", norm);
    field("dropout", dropout);
  }

  LayerNormStd norm;  ///< before the block, or after the sum
  Dropout dropout;    ///< of the block's result
  bool post_norm;     ///< true: normalise after the sum
};

}  // namespace tapegrad::nn
