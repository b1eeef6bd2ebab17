// The lookup table of token vectors.
#pragma once

#include <tapegrad/nn/linear.h>

#include <optional>

namespace tapegrad::nn {

/// ids [...] int64 -> [..., dim]. The table starts as N(0, 1); the row `padding` starts as 0 and gets no gradient.
/// Error for an id outside [0, count).
struct Embedding {
  Embedding(int64_t count, int64_t dim, std::optional<int64_t> padding = {});
  Tensor operator()(const Tensor& ids) const;
  void visit(auto&& field) {
    field("weight", weight);
    field("weight_int8", int8.values);
    field("weight_scales", int8.scales);
  }

  Parameter weight;  // [count, dim], or none if it is in int8
  std::optional<int64_t> padding;
  Int8Weight int8;
  int64_t dim;
};

}  // namespace tapegrad::nn
