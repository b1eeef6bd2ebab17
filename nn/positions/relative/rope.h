// RoPE: queries and keys are rotated by angles that grow with the position. Su et al. 2021, RoFormer.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <cstdint>
#include <span>
#include <vector>

namespace tapegrad::nn {

struct RopeOptions {
  double base = 10000;   ///< the slowest pair rotates once in about 2 pi base positions
  double ntk_scale = 1;  ///< factor by which contexts are longer than in training (NTK-aware)
};

/// x [..., T, D] -> the same shape: each pair (x(2i), x(2i+1)) at position t is rotated by the angle t base^(-2i/D).
/// The product of a rotated query and a rotated key depends only on the distance of their positions. Error for an odd
/// D.
Tensor rope(const Tensor& x, int64_t start = 0, double base = 10000);
/// The base for contexts `scale` times longer: base scale^(D/(D-2)) keeps the fastest pair as it is and slows the
/// slowest one by `scale`. NTK-aware scaling, 2023 (tutorial 003, 8.3.2, deep dive 1).
double ntk_base(double base, double scale, int64_t head_dim);
/// cos and sin of the angles at positions start .. start + length - 1, each [length, D/2].
struct Angles {
  Tensor cosines, sines;  ///< [length, D/2] each
};
/// For pairs that rotate by base^(-2i/D) per position. Error for an odd D.
Angles rope_angles(int64_t length, int64_t head_dim, int64_t start, double base, DType dtype);
/// The same for pairs that rotate by these angles per position; rope_speeds has base^(-2i/D). Error for an odd D.
Angles rope_angles(int64_t length, std::span<const double> speeds, int64_t start, DType dtype);
std::vector<double> rope_speeds(int64_t head_dim, double base);
/// x [..., T, D] with its pairs rotated: elements 2i and 2i + 1, or with `halves` i and i + D/2.
Tensor rotate_pairs(const Tensor& x, const Tensor& cosines, const Tensor& sines, bool halves = false);

}  // namespace tapegrad::nn
