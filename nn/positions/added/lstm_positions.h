// Positions by an LSTM over the embeddings.
#pragma once

#include <tapegrad/nn/kv_cache.h>
#include <tapegrad/nn/linear.h>
#include <tapegrad/nn/recurrent.h>

namespace tapegrad::nn {

struct LstmPositionOptions {
  int64_t size = 0;  ///< of the hidden states; 0: the width of the model
};

/// h(t) = LSTM(x(t), h(t-1)), P(t) = W h(t). It runs forwards in an encoder, too.
struct LstmPositions {
  LstmPositions(int64_t dim, int64_t size);
  Tensor operator()(const Tensor& x, KVCache* cache = nullptr) const;
  void visit(auto&& field) {
    field("lstm", lstm);
    field("projection", projection);
  }

  LSTM lstm;          ///< reads the embeddings
  Linear projection;  // W, without bias
};

}  // namespace tapegrad::nn
