// The weights of a recurrent layer.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

/// The tensors of a layer under PyTorch's names; G is 1 for rnn_layer, 4 for lstm_layer, 3 for gru_layer.
struct RecurrentWeights {
  Tensor weight_ih;     ///< [G H, I]
  Tensor weight_hh;     ///< [G H, H]
  Tensor bias_ih = {};  ///< [G H], or empty, like bias_hh
  Tensor bias_hh = {};  ///< [G H], or empty
};

}  // namespace tapegrad
