// Recurrent networks with one or more layers and one or two directions: RNN, LSTM, GRU, and their single steps.
//
//   nn::LSTM lstm(10, 20, {.num_layers = 2});
//   const auto [output, hidden, cell] = lstm(x);           // x [T, B, 10] -> [T, B, 20], and [2, B, 20] twice
//   const auto [again, h, c] = lstm(x, {hidden, cell});    // continues from these states
//
// Parameter names, initial values and results are PyTorch's. D is 2 if bidirectional, else 1. The input x is [T, B, I],
// or [B, T, I] if batch_first, or a single sequence [T, I]; the output has the same form, with D H instead of I,
// forward direction first. States are always [L D, B, H], or [L D, H] for a single sequence, ordered by layer, in each
// layer forward direction first. Missing states are zeros.
//
// `lengths`, int64 [B] with values from 1 to T, replaces PyTorch's PackedSequence; the sequences may be in any order.
// Outputs after the end of a sequence are zeros, its final state is that of its last step, and its reverse direction
// begins there. The output has T steps, as pad_packed_sequence with total_length = T. Dropout samples numbers for all T
// steps.
//
// Error unless sizes and num_layers are positive and dropout is between 0 and 1, and for shapes and types that do not
// match.
//
// There is no proj_size.
#pragma once

#include <tapegrad/autograd/recurrent.h>
#include <tapegrad/nn/module.h>

#include <string>

namespace tapegrad::nn {

struct RecurrentOptions {
  int64_t num_layers = 1;    ///< each layer reads the outputs of the layer below
  bool bias = true;          ///< false: no bias_ih and no bias_hh
  bool batch_first = false;  ///< x and output are [B, T, ...]; states are not affected
  double dropout = 0;        ///< in training, on the output of every layer but the last
  /// true: a second set of weights reads from the last step to the first; outputs are joined
  bool bidirectional = false;
};

/// The states of an LSTM; hidden and cell are either both given or both empty.
struct LSTMState {
  Tensor hidden = {}, cell = {};  ///< empty: zeros
};

namespace detail {

// The parameters of one direction of one layer.
struct RecurrentDirection {
  Parameter weight_ih, weight_hh, bias_ih, bias_hh;
  RecurrentDirection(int64_t inputs, int64_t hidden_size, int64_t gates, bool bias);
  RecurrentWeights weights() const { return {weight_ih, weight_hh, bias_ih, bias_hh}; }
  // The suffix of PyTorch's names: weight_ih_l0_reverse.
  void visit_with(auto&& field, const std::string& suffix) {
    field("weight_ih" + suffix, weight_ih);
    field("weight_hh" + suffix, weight_hh);
    field("bias_ih" + suffix, bias_ih);
    field("bias_hh" + suffix, bias_hh);
  }
};

// What RNN, LSTM and GRU have in common.
struct RecurrentStack {
  RecurrentStack(std::string_view name, int64_t input_size, int64_t hidden_size, int64_t gates,
                 const RecurrentOptions& options);
  void visit_layers(auto&& field) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::size_t layer = options.bidirectional ? i / 2 : i;
      const bool reverse = options.bidirectional && i % 2 == 1;
      parts[i].visit_with(field, "_l" + std::to_string(layer) + (reverse ? "_reverse" : ""));
    }
  }

  int64_t input_size, hidden_size;
  RecurrentOptions options;
  Mode training = true;
  List<RecurrentDirection> parts;  // by layer, in each layer forward, then reverse
};

}  // namespace detail

/// h' = f(W_ih x + b_ih + W_hh h + b_hh), where f is tanh or relu. Elman 1990.
struct RNN : detail::RecurrentStack {
  RNN(int64_t input_size, int64_t hidden_size, const RecurrentOptions& options = {},
      Nonlinearity nonlinearity = Nonlinearity::tanh);
  RecurrentResult operator()(const Tensor& x, const Tensor& hidden = {}, const Tensor& lengths = {}) const;
  void visit(auto&& field) { visit_layers(field); }

  Nonlinearity nonlinearity;  ///< f
};

/// Layers of lstm_layer. Hochreiter, Schmidhuber 1997; Gers et al. 2000.
struct LSTM : detail::RecurrentStack {
  LSTM(int64_t input_size, int64_t hidden_size, const RecurrentOptions& options = {});
  LSTMResult operator()(const Tensor& x, const LSTMState& state = {}, const Tensor& lengths = {}) const;
  void visit(auto&& field) { visit_layers(field); }
};

/// Layers of gru_layer. Cho et al. 2014.
struct GRU : detail::RecurrentStack {
  GRU(int64_t input_size, int64_t hidden_size, const RecurrentOptions& options = {});
  RecurrentResult operator()(const Tensor& x, const Tensor& hidden = {}, const Tensor& lengths = {}) const;
  void visit(auto&& field) { visit_layers(field); }
};

// Single steps: x [B, I] and states [B, H], or [I] and [H] without a batch. Missing states are zeros.

/// One step of RNN: the new hidden state.
struct RNNCell : detail::RecurrentDirection {
  RNNCell(int64_t input_size, int64_t hidden_size, bool bias = true, Nonlinearity nonlinearity = Nonlinearity::tanh);
  Tensor operator()(const Tensor& x, const Tensor& hidden = {}) const;
  void visit(auto&& field) { visit_with(field, ""); }

  Nonlinearity nonlinearity;  ///< f
};

/// One step of LSTM: the new states, auto [hidden, cell] = step(x, {h, c}).
struct LSTMCell : detail::RecurrentDirection {
  LSTMCell(int64_t input_size, int64_t hidden_size, bool bias = true);
  LSTMState operator()(const Tensor& x, const LSTMState& state = {}) const;
  void visit(auto&& field) { visit_with(field, ""); }
};

/// One step of GRU: the new hidden state.
struct GRUCell : detail::RecurrentDirection {
  GRUCell(int64_t input_size, int64_t hidden_size, bool bias = true);
  Tensor operator()(const Tensor& x, const Tensor& hidden = {}) const;
  void visit(auto&& field) { visit_with(field, ""); }
};

}  // namespace tapegrad::nn
