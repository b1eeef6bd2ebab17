// The kernels of grid_sample and of its gradients.
#pragma once

#include <tapegrad/autograd/dtype.h>
#include <tapegrad/autograd/grid_options.h>

#include <array>
#include <cstdint>

namespace tapegrad {

struct Sampling {
  GridSampleOptions options;
  int axes = 2;
  int64_t n = 0, channels = 0, points = 0;
  std::array<int64_t, 3> size = {};    // of the image, the last axis first, as in the grid
  std::array<int, 3> derivative = {};  // of the weights with respect to the grid, by axis

  /// Elements of an axis, and of the image, that contribute to an element of the result.
  int taps() const { return options.mode == GridMode::nearest ? 1 : options.mode == GridMode::bilinear ? 2 : 4; }
  int all_taps() const { return axes == 3 ? taps() * taps() * taps() : taps() * taps(); }
  int64_t image() const { return size[0] * size[1] * (axes == 3 ? size[2] : 1); }
  Sampling derived(int axis) const {
    Sampling next = *this;
    ++next.derivative[static_cast<std::size_t>(axis)];
    return next;
  }
};

/// Contiguous: x [n, channels, image], grid [n, points, axes], dy [n, channels, points].
struct GridOperands {
  DType dtype;
  const void* x = nullptr;
  const void* grid = nullptr;
  const void* dy = nullptr;
  void* y = nullptr;  // the result
};
/// [n, channels, points] = the weighted sums of x.
void grid_gather(const Sampling& s, const GridOperands& operands);
/// [n, channels, image] = the sums of dy times the weights, in the order of the points.
void grid_scatter(const Sampling& s, const GridOperands& operands);
/// [n, points, axes] = the sums over the channels of dy times the derivatives of grid_gather.
void grid_slopes(const Sampling& s, const GridOperands& operands);

}  // namespace tapegrad
