// The lookup table of token vectors.
#pragma once

#include <tapegrad/nn/weight.h>

#include <optional>

namespace tapegrad::nn {

/// ids [...] int64 -> [..., dim]. The table starts as N(0, 1); the row `padding` starts as 0 and gets no gradient.
/// Error for an id outside [0, count).
struct Embedding {
  Embedding(int64_t count, int64_t dim, std::optional<int64_t> padding = {});
  Tensor operator()(const Tensor& ids) const { return weight.rows(ids, padding); }
  void visit(auto&& field) { field("weight", weight); }

  Weight weight;                   // [count, dim]
  std::optional<int64_t> padding;  ///< the id whose vector is zero and gets no gradient
};

}  // namespace tapegrad::nn
