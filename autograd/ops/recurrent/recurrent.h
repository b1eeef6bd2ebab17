// A recurrent layer in one direction as a single operation; nn::RNN, nn::LSTM and nn::GRU are stacks of these.
//
// One matrix multiplication projects the inputs of all steps. Each step adds the projection of the hidden state and
// computes the rest in one pass. Backward collects the gradients of all steps, so that the gradient of each weight is
// one matrix multiplication as well.
//
// All three take x [T, B, I] and states [B, H], float32 or float64, with T and H of at least 1. Error for types and
// shapes that do not match. NaN and infinity propagate within their own sequence.
#pragma once

#include <tapegrad/autograd/recurrent_weights.h>
#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

struct RecurrentLayerOptions {
  bool reverse = false;  ///< from the last step to the first
  /// int64 [B], 1 to T: sequence b has lengths[b] steps. Later steps of x are ignored, and their outputs are zero; the
  /// final state is the state of the sequence's last step, where the reverse direction begins. Empty: all sequences
  /// have T steps.
  Tensor lengths = {};
};

/// What rnn_layer and gru_layer return.
struct RecurrentResult {
  Tensor output;  ///< [T, B, H]: the hidden state after each step
  Tensor hidden;  ///< [B, H]: after the last step
};
/// What lstm_layer returns.
struct LSTMResult {
  Tensor output, hidden;  ///< as in RecurrentResult
  Tensor cell;            ///< [B, H]: the cell state after the last step
};

enum class Nonlinearity { tanh, relu };  ///< of rnn_layer

/// h' = f(W_ih x + b_ih + W_hh h + b_hh), where f is tanh or relu. An empty `hidden` means zeros. Elman 1990.
RecurrentResult rnn_layer(const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden = {},
                          const RecurrentLayerOptions& options = {}, Nonlinearity nonlinearity = Nonlinearity::tanh);
/// i, f, g, o = the four parts of W_ih x + b_ih + W_hh h + b_hh; c' = sigmoid(f) c + sigmoid(i) tanh(g); h' =
/// sigmoid(o) tanh(c'). Hochreiter, Schmidhuber 1997; Gers et al. 2000. Empty states mean zeros.
LSTMResult lstm_layer(const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden = {},
                      const Tensor& cell = {}, const RecurrentLayerOptions& options = {});
/// r, z = sigmoid of the first two parts of W_ih x + b_ih + W_hh h + b_hh (the third is n); n = tanh(W_in x + b_in + r
/// (W_hn h + b_hn)); h' = (1 - z) n + z h. The reset gate is applied after the product, as in PyTorch. An empty
/// `hidden` means zeros. Cho et al. 2014.
RecurrentResult gru_layer(const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden = {},
                          const RecurrentLayerOptions& options = {});

}  // namespace tapegrad
