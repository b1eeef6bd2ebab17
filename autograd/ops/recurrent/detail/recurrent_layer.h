// The elementwise part of one step of a recurrent layer, forward and backward, for some rows of the batch; the tensors
// that backward of a layer keeps, and its recorded form.
#pragma once

#include <tapegrad/autograd/dtype.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/recurrent_weights.h>
#include <tapegrad/autograd/tensor.h>

#include <cstdint>

namespace tapegrad {

enum class Recurrent { rnn_tanh, rnn_relu, lstm, gru };

/// Columns of the gates, in units of the hidden width. GRU has n, r, z and the part of n that r multiplies.
constexpr int64_t gate_columns(Recurrent kind) { return kind == Recurrent::lstm || kind == Recurrent::gru ? 4 : 1; }
/// Rows of the weights, in the same units. The rows of weight_hh belong to the last columns of the gates.
constexpr int64_t gate_rows(Recurrent kind) { return kind == Recurrent::gru ? 3 : gate_columns(kind); }

/// One step. All pointers are to the first row of the batch; `gates` has rows of gate_columns * width, the others of
/// `width` elements.
struct RecurrentStep {
  Recurrent kind;
  DType dtype;
  int64_t width;
  int64_t time;            // of this step
  const int64_t* lengths;  // of the sequences, or nullptr; a sequence that has ended keeps its state
  const void* bias;        // one row of gates, added to each
  void* gates;             // pre-activations; then the gates; after backward, the gradients of the pre-activations
  const void* hidden_before;
  void* hidden;
  const void* cell_before;  // lstm only, as `cell`
  void* cell;
  void* output;  // with lengths: `hidden` of this step, or zeros; else nullptr
};

/// The gradients that backward passes from step to step.
struct RecurrentStepGradients {
  const void* output;  // of this step's output
  void* hidden;        // of `hidden`; then the part of `hidden_before`'s gradient that bypasses the gates
  void* cell;          // of `cell`; then of `cell_before`
};

/// Computes the gates and states from the pre-activations in `gates`, for rows [begin, end).
void recurrent_step(const RecurrentStep& step, int64_t begin, int64_t end);
/// Replaces the gates by the gradients of their pre-activations.
void recurrent_step_backward(const RecurrentStep& step, const RecurrentStepGradients& gradients, int64_t begin,
                             int64_t end);

/// One call of a layer. Its result y has T + 1 rows [B, H] in order of time: T outputs and, where the direction begins,
/// the initial hidden state (with lengths: the final one). LSTM has one more row, the final cell state.
struct RecurrentLayer {
  Recurrent kind;
  bool reverse;
  Tensor x;  // [T, B, I]; with lengths, zeros after the end of each sequence
  RecurrentWeights weights;
  Tensor hidden = {}, cell = {};  // [B, H], or empty
  Tensor lengths = {};            // [B], or empty
  Tensor gates = {};              // [T * B, gate_columns * H]
  Tensor states = {};             // the hidden states in the rows of y; y itself if there are no lengths
  Tensor cells = {};              // lstm: [T + 1, B, H] in the same order

  int64_t steps() const { return x.size(0); }
  int64_t batch() const { return x.size(1); }
  int64_t inputs() const { return x.size(2); }
  int64_t width() const { return weights.weight_hh.size(1); }
  int64_t columns() const { return gate_columns(kind) * width(); }
  /// The time of the i-th step, and the rows of y before and after the step at time t.
  int64_t time(int64_t i) const { return reverse ? steps() - 1 - i : i; }
  int64_t before(int64_t t) const { return reverse ? t + 1 : t; }
  int64_t after(int64_t t) const { return reverse ? t : t + 1; }
  int64_t first_row() const { return reverse ? steps() : 0; }
  int64_t last_row() const { return reverse ? 0 : steps(); }
};

/// The gradients of x, weight_ih, weight_hh, bias_ih, bias_hh, hidden and cell, step by step, made of recorded
/// operations.
Grads recorded_backward(const RecurrentLayer& layer, const Tensor& dy);

/// bool [T, B, 1]: the steps that sequences of these lengths have.
Tensor steps_of(const Tensor& lengths, int64_t steps);

}  // namespace tapegrad
