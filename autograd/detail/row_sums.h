// The gradients of leaves of which only some rows have one (RowGradient), while backward runs.
#pragma once

#include <tapegrad/autograd/gradients.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/pool.h>

#include <algorithm>
#include <utility>

namespace tapegrad::detail {

/// Error unless the rows that an operation gives can be a gradient for an input of this shape.
inline void require_rows(const Op& op, const RowGradient& given, const Shape& shape, DType of_input) {
  const DType dtype = is_half(of_input) ? kFloat32 : of_input;
  const Tensor &ids = given.ids, &values = given.values;
  const bool fits = shape.rank() == 2 && given.rows == shape[0] && ids.dtype() == kInt64 && ids.dim() == 1 &&
                    ids.is_contiguous() && values.defined() && values.dtype() == dtype && values.is_contiguous() &&
                    values.shape() == Shape{ids.numel(), shape[1]};
  require(fits, op, "expected rows from backward for shape {}: int64 ids [n] and {} values [n, columns], contiguous",
          shape, dtype);
  for (int64_t i = 0, least = 0; i < ids.numel(); ++i) {
    const int64_t id = ids.data<int64_t>()[i];
    require(id >= least && id < given.rows, op, "backward gave the row {}, expected ascending ids in [0, {})", id,
            given.rows);
    least = id + 1;
  }
}

/// Sums by position on the tape, of leaves that have no gradient in full shape yet.
class RowSums {
 public:
  RowGradient given;  ///< by the last operation (BackwardPass::rows)
  bool empty() const { return sums_.empty(); }
  void add(int64_t position, RowGradient rows) {
    if (const auto found = find(position); found != sums_.end()) {
      found->second += rows;
    } else {
      sums_.emplace_back(position, std::move(rows));
    }
  }
  /// Removes and returns the sum of a leaf; not defined() if there is none.
  RowGradient take(int64_t position) {
    const auto found = find(position);
    if (found == sums_.end()) return {};
    RowGradient rows = std::move(found->second);
    sums_.erase(found);
    return rows;
  }

 private:
  using Sum = std::pair<int64_t, RowGradient>;
  PoolVector<Sum>::iterator find(int64_t position) { return std::ranges::find(sums_, position, &Sum::first); }
  PoolVector<Sum> sums_;
};

}  // namespace tapegrad::detail
