// Tutorial 001, section 3: sinusoidal positions and the causal mask, from basic operations. The library has them as
// nn::SinusoidalPositions and nn::causal_mask.
#pragma once

#include <tapegrad/nn/module.h>

#include <cmath>

namespace tapegrad::tasks {

// [class]
// x [T, B, d_model] -> x + pe[:T]. Time is the first axis, the batch the second.
// pe(t, 2i) = sin(t / 10000^(2i/d_model)), pe(t, 2i+1) = cos of the same.
struct PositionalEncoding {
  explicit PositionalEncoding(int64_t d_model, int64_t max_len = 5000) : pe(table(d_model, max_len)) {}

  Tensor operator()(const Tensor& x) const { return x + narrow(pe, 0, 0, x.size(0)); }
  void visit(auto&& field) { field("pe", pe); }

  // [table]
  static Tensor table(int64_t d_model, int64_t max_len) {
    const Tensor position = arange(0, max_len, 1, kFloat32).unsqueeze(1);  // [max_len, 1]
    const Tensor div_term = exp(arange(0, d_model, 2, kFloat32) * (-std::log(10000.0) / static_cast<double>(d_model)));
    const Tensor angles = position * div_term;  // [max_len, d_model / 2]
    // Stacked along a last axis of size 2, then flattened: sin, cos, sin, cos ...
    return stack({sin(angles), cos(angles)}, -1).reshape({max_len, 1, d_model});
  }
  // [/table]

  nn::Buffer pe;  // [max_len, 1, d_model]: saved with the model, not trained
};
// [/class]

// [subsequent]
// bool [1, size, size]: true at and before the row's own position, which may be attended to.
inline Tensor subsequent_mask(int64_t size) { return triu(ones({1, size, size}), 1) == 0; }
// [/subsequent]

}  // namespace tapegrad::tasks
