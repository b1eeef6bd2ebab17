// Linear recurrences along an axis: state space models, gated linear recurrent layers, discounted sums.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

// --- linear recurrences (autograd/ops/scan/linear_scan.cpp), floating ---

/// h[t] = a[t] h[t - 1] + b[t] along an axis; reversed, h[t] = a[t] h[t + 1] + b[t] from the end of the axis. a and b
/// broadcast to the shape of h. `initial` is the state before the first step: it broadcasts to the shape of h without
/// the axis; without it, the state is 0. Each step is one multiply-add, rounded once; a line is always computed step by
/// step, different lines on several threads.
Tensor linear_scan(const Tensor& a, const Tensor& b, int64_t axis, const Tensor& initial = {}, Flag reverse = false);

/// The selective state space of Mamba (Gu, Dao 2023), made of linear_scan: h[t] = exp(delta[t] a) h[t - 1] + delta[t]
/// u[t] b[t] and y[t] = c[t] h[t] + d u[t]. u and delta are [B, L, E], a is [E, N] (negative in a model), b and c are
/// [B, L, N], d is [E] or left out; y is [B, L, E]. Error for other shapes. For gradients it keeps h and its factors,
/// [B, L, E, N] each.
Tensor selective_scan(const Tensor& u, const Tensor& delta, const Tensor& a, const Tensor& b, const Tensor& c,
                      const Tensor& d = {});

}  // namespace tapegrad
