// Options of training steps in several processes, the weights of batches, and measured times.
#pragma once

#include <tapegrad/autograd/dtype.h>
#include <tapegrad/optim/gradient_transform.h>

#include <cstdint>
#include <span>
#include <vector>

namespace tapegrad::distributed {

struct DataParallelOptions {
  /// Batches per step, a multiple of World::size(). The step's gradient is the mean over the terms of all of them.
  int64_t accumulate = 1;
  double clip_grad_norm = 0;  ///< 0: no clipping
  /// Further changes of the gradients before the update, in this order, after clip_grad_norm.
  std::vector<optim::GradientTransform> transforms = {};
  /// The type in which float32 gradients are sent. With kBFloat16 half as many bytes are sent, and the results of a run
  /// depend on the number of processes.
  DType wire = kFloat32;
  /// A single process updates parameters during backward(), which takes less memory (Optimizer::step(tape, loss)
  /// describes this, also for a backward that fails). Only for steps of one batch without clipping and transforms;
  /// update() then does nothing.
  bool update_in_backward = false;
  /// Bytes of gradients that are sent together. 0: 4 MiB, or 512 KiB per message if there are more than eight messages.
  int64_t bucket_bytes = 0;
  bool overlap = true;  ///< gradients are sent while backward still runs; false: after it, to compare

  bool changes_gradients() const { return clip_grad_norm != 0 || !transforms.empty(); }
  /// What a step does between backward and the update. Returns the norm before clipping; 0 without.
  double change(optim::StepGradients& grads) const;
};

/// Where the time of communication went, in this process.
struct CommunicationTimes {
  int64_t steps = 0;        ///< optimiser steps so far
  int64_t bytes_sent = 0;   ///< by this process, of gradients and parameters
  double gradients_s = 0;   ///< waiting after backward: for slower processes, and for gradients
  double parameters_s = 0;  ///< waiting for updated parameters
};

/// The weights of the batches of a step in the mean over all their terms: weight i is [i] / sum().
class BatchWeights {
 public:
  /// Error if a number of terms is negative or not finite, or all are 0.
  explicit BatchWeights(std::span<const double> terms);
  /// Terms of batch i, as a share of the most that a batch has: 1 for all batches where their terms are equal.
  double operator[](int64_t i) const { return shares_[static_cast<std::size_t>(i)]; }
  double sum() const { return sum_; }

 private:
  std::vector<double> shares_;
  double sum_ = 0;
};

}  // namespace tapegrad::distributed
