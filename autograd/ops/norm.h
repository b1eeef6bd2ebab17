// What the kernels of the norms are told, the same for every instruction set.
#pragma once

#include <tapegrad/autograd/dtype.h>

#include <cstdint>

namespace tapegrad {

enum class Norm { layer, std, rms };

// Kept of each row for backward: x becomes (x - mean) * scale, and `pull` says how strongly the scale follows x.
template <class T>
struct NormRow {
  T mean, scale, pull;
};

struct NormTask {
  Norm form;
  DType dtype;
  int64_t n;  // elements of a row
  double eps;
  const void* x;
  const void* weight;  // or nullptr, as bias
  const void* bias;
  void* y;
  void* kept;  // NormRow of every row, or nullptr
};

struct NormBackwardTask {
  Norm form;
  DType dtype;
  int64_t n;
  const void* x;
  const void* weight;
  const void* kept;
  const void* dy;
  void* dx;  // or nullptr
};

}  // namespace tapegrad
