// Linear recurrences along an axis: state space models, gated linear recurrent layers, discounted sums.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

// --- linear recurrences (ops/scan/linear_scan.cpp), floating ---

/// h[t] = a[t] h[t - 1] + b[t] along an axis; reversed, h[t] = a[t] h[t + 1] + b[t] from the end of the axis. a and b
/// broadcast to the shape of h. `initial` is the state before the first step: it broadcasts to the shape of h without
/// the axis; without it, the state is 0. Each step is one multiply-add, rounded once; a line is always computed step by
/// step, different lines on several threads.
Tensor linear_scan(const Tensor& a, const Tensor& b, int64_t axis, const Tensor& initial = {}, Flag reverse = false);

}  // namespace tapegrad
