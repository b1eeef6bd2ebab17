// Sines and cosines of many wavelengths. Vaswani et al. 2017, section 3.5; tutorial 003, section 8.3.2.
#pragma once

#include <tapegrad/nn/module.h>

namespace tapegrad::nn {

/// x [B, T, C] -> x + pe[:T], pe(t, 2i) = sin(t / 10000^(2i/C)), pe(t, 2i+1) = cos of the same.
struct SinusoidalPositions {
  SinusoidalPositions(int64_t max_positions, int64_t dim);
  Tensor operator()(const Tensor& x) const;
  void visit(auto&& field) { field("pe", pe); }

  Buffer pe;  // [max_positions, dim]
};

/// The table above for positions start .. start + length - 1, computed in float32 as PyTorch does.
Tensor sinusoidal_table(int64_t length, int64_t dim, int64_t start = 0);

}  // namespace tapegrad::nn
