// One layer of a recurrent network in one direction, as one operation: what nn::RNN, nn::LSTM and nn::GRU are made of.
//
// The input's projections for all steps are one matrix product. A step adds the product of the hidden state and does
// the rest in one pass; backward collects the gradients of all steps, so that each weight's gradient is one product,
// too.
//
// All three take x [T, B, I] and states [B, H], float32 or float64, with T and H of at least 1. Types and shapes that
// do not fit are an Error. NaN and infinity propagate within their sequence.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

/// The tensors of a layer under PyTorch's names; G is 1 for rnn_layer, 4 for lstm_layer, 3 for gru_layer.
struct RecurrentWeights {
  Tensor weight_ih;     ///< [G H, I]
  Tensor weight_hh;     ///< [G H, H]
  Tensor bias_ih = {};  ///< [G H], or empty, as bias_hh
  Tensor bias_hh = {};
};

struct RecurrentLayerOptions {
  bool reverse = false;  ///< from the last step to the first
  /// int64 [B], 1 to T: sequence b has lengths[b] steps. What follows in x is ignored, outputs there are zero, the
  /// final state is that of the last step, and the reverse direction begins there. Empty: all have T.
  Tensor lengths = {};
};

struct RecurrentResult {
  Tensor output;  ///< [T, B, H]: the hidden state after each step
  Tensor hidden;  ///< [B, H]: after the last one
};
struct LSTMResult {
  Tensor output, hidden;
  Tensor cell;  ///< [B, H]: the cell state after the last step
};

enum class Nonlinearity { tanh, relu };

/// h' = f(W_ih x + b_ih + W_hh h + b_hh), f being tanh or relu. Elman 1990. An empty `hidden` is zeros.
RecurrentResult rnn_layer(const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden = {},
                          const RecurrentLayerOptions& options = {}, Nonlinearity nonlinearity = Nonlinearity::tanh);
/// i, f, g, o = the four parts of W_ih x + b_ih + W_hh h + b_hh; c' = sigmoid(f) c + sigmoid(i) tanh(g);
/// h' = sigmoid(o) tanh(c'). Hochreiter, Schmidhuber 1997; Gers et al. 2000. Empty states are zeros.
LSTMResult lstm_layer(const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden = {},
                      const Tensor& cell = {}, const RecurrentLayerOptions& options = {});
/// r, z = sigmoid of the first two parts of W_ih x + b_ih + W_hh h + b_hh; n = tanh(W_in x + b_in + r (W_hn h + b_hn));
/// h' = (1 - z) n + z h. Cho et al. 2014, with the reset gate after the product. An empty `hidden` is zeros.
RecurrentResult gru_layer(const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden = {},
                          const RecurrentLayerOptions& options = {});

}  // namespace tapegrad
