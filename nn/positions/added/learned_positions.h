// One learned vector per position.
#pragma once

#include <tapegrad/nn/module.h>

namespace tapegrad::nn {

struct LearnedPositionOptions {
  /// The table of max_positions vectors is interpolated to inputs of up to this length; 0: no interpolation.
  int64_t interpolate_to = 0;
};

/// One learned vector per position: T -> [T, dim]. Error beyond max_positions.
struct LearnedPositions {
  LearnedPositions() = default;  ///< none
  LearnedPositions(int64_t max_positions, int64_t dim);
  Tensor operator()(int64_t length, int64_t start = 0) const;  ///< positions start .. start + length - 1
  /// The same for an input of `total` positions that is scaled down to the table: position i is read at row
  /// i max_positions / total, between two rows (beyond the last row: at it). Chen et al. 2023.
  Tensor interpolated(int64_t length, int64_t start, int64_t total) const;
  void visit(auto&& field) { field("weight", weight); }

  Parameter weight;  // [max_positions, dim], N(0, 1)
};

}  // namespace tapegrad::nn
