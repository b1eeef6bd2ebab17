// The elementwise part of one step of a recurrent layer, forward and backward, for some rows of the batch.
#pragma once

#include <tapegrad/autograd/dtype.h>

#include <cstdint>

namespace tapegrad {

enum class Recurrent { rnn_tanh, rnn_relu, lstm, gru };

/// Columns of the gates, in units of the hidden width. GRU has n, r, z and the part of n that r multiplies.
constexpr int64_t gate_columns(Recurrent kind) { return kind == Recurrent::lstm || kind == Recurrent::gru ? 4 : 1; }
/// Rows of the weights, in the same units. Those of weight_hh are the last columns of the gates.
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
  void* gates;             // sums of products; then the gates themselves; after backward, the gradients of the sums
  const void* hidden_before;
  void* hidden;
  const void* cell_before;  // lstm only, as `cell`
  void* cell;
  void* output;  // with lengths: `hidden` of this step, or zeros; else nullptr
};

/// The gradients that backward passes from step to step.
struct RecurrentStepGradients {
  const void* output;  // of this step's output
  void* hidden;        // of `hidden`; then the part of that of `hidden_before` that bypasses the gates
  void* cell;          // of `cell`; then of `cell_before`
};

/// From the sums in `gates` to the gates and the states, for rows [begin, end).
void recurrent_step(const RecurrentStep& step, int64_t begin, int64_t end);
/// From the gates to the gradients of their sums.
void recurrent_step_backward(const RecurrentStep& step, const RecurrentStepGradients& gradients, int64_t begin,
                             int64_t end);

}  // namespace tapegrad
