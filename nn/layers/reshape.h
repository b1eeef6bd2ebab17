// Changes of shape as modules, for nn::Sequential.
#pragma once

#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/module.h>

namespace tapegrad::nn {

/// Returns x.
struct Identity {
  Tensor operator()(const Tensor& x) const { return x; }
  void visit(auto&&) {}
};

/// Merges axes start .. end: [B, C, H, W] -> [B, C H W]. A view if the strides allow it.
struct Flatten {
  explicit Flatten(int64_t first = 1, int64_t last = -1) : start(first), end(last) {}
  Tensor operator()(const Tensor& x) const { return x.flatten(start, end); }
  void visit(auto&&) {}

  int64_t start, end;  ///< the first and the last axis; negative ones count from the end
};

/// Splits an axis into several of the given sizes; one of them may be -1, to be inferred. A view. Error unless their
/// product is the size of the axis.
struct Unflatten {
  Unflatten(int64_t which, const Shape& into) : axis(which), sizes(into) {}
  Tensor operator()(const Tensor& x) const { return unflatten(x, axis, sizes); }
  void visit(auto&&) {}

  int64_t axis;  ///< that is split
  Shape sizes;   ///< of the new axes
};

}  // namespace tapegrad::nn
