// Positions by a learned differential equation.
#pragma once

#include <tapegrad/nn/kv_cache.h>
#include <tapegrad/nn/linear.h>
#include <tapegrad/nn/ode.h>

namespace tapegrad::nn {

struct OdePositionOptions {
  int64_t size = 0;        ///< hidden units of the network for dh/dt; 0: the width of the model
  double interval = 0.1;   ///< time between two positions
  OdeOptions solver = {};  ///< its steps are those between two positions
};

/// dh/dt = f(h, t), P(i) = h(i interval) - h(0), the integral of f from time 0 to i interval, with f(h, t) =
/// W2 tanh(W1 h + b1 + t w) + b2 and a learned h(0). Liu et al. 2020, "Learning to Encode Position for Transformer
/// with Continuous Dynamical Model".
struct OdePositions {
  OdePositions(int64_t dim, const OdePositionOptions& options);
  Tensor operator()(int64_t length, int64_t start = 0, KVCache* cache = nullptr) const;  ///< [length, dim]
  void visit(auto&& field) {
    field("start", start_value);
    field("w_1", w_1);
    field("time", time);
    field("w_2", w_2);
  }

  Parameter start_value;  // [dim], zeros
  Linear w_1, w_2;        ///< the network for dh/dt
  Parameter time;         // [size], uniform as w_1's bias
  double interval;        ///< time between two positions
  OdeOptions options;     ///< of the solver
};

}  // namespace tapegrad::nn
