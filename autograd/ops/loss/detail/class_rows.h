// Rows of logits whose targets are classes: the kernels of cross_entropy, for losses that have the logits in parts.
#pragma once

#include <tapegrad/autograd/dtype.h>
#include <tapegrad/autograd/losses.h>

#include <cstdint>

namespace tapegrad {

inline constexpr int64_t kClassChunk = 2048;  // logits of a row that are read at a time

/// Rows of V logits. Everything is contiguous; all pointers are to the first row.
struct CrossEntropyArgs {
  DType dtype;
  int64_t classes;
  int64_t ignore_index;
  double smoothing;
  double factor;        // of the gradient: 1, or for a mean 1 / count_targets() (loss.h)
  const void* weights;  // of the classes, or nullptr
  double weight_sum;    // of all classes
  const void* logits;
  const int64_t* targets;
  void* losses;
  void* kept;  // of each row, for the gradient: after each chunk the largest logit so far; the sum of exps; or nullptr
  void* gradient;         // may be the logits
  const void* dy;         // the gradient is multiplied by it; nullptr: by 1
  int64_t dy_stride = 0;  // from a row to the next
};

/// Numbers per row in CrossEntropyArgs::kept.
inline int64_t kept_of_row(int64_t classes) { return (classes + kClassChunk - 1) / kClassChunk + 1; }

/// The losses of rows, and `kept`; in parallel over the rows.
void write_class_losses(const CrossEntropyArgs& args, int64_t rows);
/// dy times the gradient of the rows' logits, from what write_class_losses kept; in parallel over the rows.
void write_class_gradients(const CrossEntropyArgs& args, int64_t rows);

/// The gradient (softmax * total - target's part - smoothing) * factor of logits [..., V], made of recorded operations.
/// It is 0 in rows whose target is ignored and in rows that are all -inf, whatever the weights are.
Tensor composed_class_gradient(const Tensor& logits, const Tensor& target, const Tensor& weight,
                               const CrossEntropyOptions& options, double factor);

}  // namespace tapegrad
