// The recursions of ctc_loss over the steps of a sequence.
//
// A sequence with S labels has 2 S + 1 states: the labels, and a blank before, between and after them. In each step it
// stays in its state, goes on to the next one, or from a label to the next label, if the two differ.
#pragma once

#include <tapegrad/autograd/pool.h>
#include <tapegrad/autograd/tensor.h>

#include <cstdint>

namespace tapegrad {

struct CtcBatch {
  DType dtype = kFloat32;
  int64_t steps = 0, batch = 0, classes = 0, blank = 0;
  bool zero_infinity = false;
  PoolVector<int64_t> lengths;       // [B], in steps
  PoolVector<int64_t> labels;        // of all sequences
  PoolVector<int64_t> label_starts;  // [B]
  PoolVector<int64_t> label_counts;  // [B]
  int64_t most_labels = 0;

  /// Numbers per step of a sequence: its states, and two for reads before the first one.
  int64_t row_size() const { return 2 * most_labels + 3; }
};

/// The losses [B] from contiguous log-probabilities [T, B, C]. `ways` [B, T, row_size], if it is defined, receives the
/// log-probability of all paths to each state, minus a number that all states of the step share.
void write_ctc_losses(const CtcBatch& c, const Tensor& log_probs, const Tensor& losses, const Tensor& ways);
/// dlosses [B] times the gradient of the log-probabilities, from what write_ctc_losses wrote.
void write_ctc_gradient(const CtcBatch& c, const Tensor& log_probs, const Tensor& losses, const Tensor& ways,
                        const Tensor& dlosses, const Tensor& dx);

}  // namespace tapegrad
