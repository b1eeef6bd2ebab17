// The tensors that backward of a recurrent layer keeps, and its recorded form.
#pragma once

#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops/recurrent/detail/recurrent_kernel.h>
#include <tapegrad/autograd/recurrent_weights.h>
#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

/// One call of a layer. Its result y has T + 1 rows [B, H] in order of time: the outputs, and where the direction
/// begins the initial hidden state (with lengths: the final one). LSTM has one more row, the final cell state.
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
