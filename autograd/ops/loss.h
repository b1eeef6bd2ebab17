// What the losses share: checks of classes and targets, and reductions; and what the kernel of cross_entropy is told.
#pragma once

#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>

namespace tapegrad {

inline constexpr int64_t kChunk = 2048;       // logits of a row that are read at a time
inline constexpr int64_t kStreamFrom = 8192;  // classes from which a gradient is too large to stay in the caches

struct CrossEntropyTask {
  DType dtype;
  int64_t classes;
  int64_t ignore_index;
  double smoothing;
  double factor;  // of the gradient: 1, or 1 / (targets that count)
  const void* logits;
  const int64_t* targets;
  void* losses;
  void* gradient;  // or nullptr
};

// x [..., V] floating with target [...] int64, or an Error.
void check_classes(const Op& op, const Tensor& x, const Tensor& target);

// How many targets (contiguous) count. Error with value, place and range for one that is neither a class nor ignored.
int64_t count_targets(const Op& op, const Tensor& target, int64_t classes, int64_t ignore_index);

// The losses of all rows as one number, `count` being what a mean divides by; not recorded. A mean over nothing is NaN.
Tensor reduce_losses(const Tensor& losses, Reduction reduction, int64_t count);

}  // namespace tapegrad
