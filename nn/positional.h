// Positions for attention, which by itself sees a set: learned and sinusoidal.
#pragma once

#include <tapegrad/nn/embedding.h>

namespace tapegrad::nn {

// A learned vector a position: T -> [T, dim]. Error beyond max_positions.
struct LearnedPositions {
  LearnedPositions(std::int64_t max_positions, std::int64_t dim);
  Tensor operator()(std::int64_t length, std::int64_t start = 0) const;  // positions start .. start + length - 1
  void visit(auto&& field) { field("weight", weight); }

  Parameter weight;  // [max_positions, dim], N(0, 1)
};

// x [B, T, C] -> x + pe[:T], pe(t, 2i) = sin(t / 10000^(2i/C)), pe(t, 2i+1) = cos of the same. Section 8.3.2.
struct SinusoidalPositions {
  SinusoidalPositions(std::int64_t max_positions, std::int64_t dim);
  Tensor operator()(const Tensor& x) const;
  void visit(auto&& field) { field("pe", pe); }

  Buffer pe;  // [max_positions, dim]
};

// The table above, computed in float32 as PyTorch computes it.
Tensor sinusoidal_table(std::int64_t max_positions, std::int64_t dim);

}  // namespace tapegrad::nn
