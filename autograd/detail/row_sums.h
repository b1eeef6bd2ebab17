// The gradients of leaves of which only some rows have one (RowGradient), while backward runs.
#pragma once

#include <tapegrad/autograd/gradients.h>
#include <tapegrad/autograd/pool.h>

#include <algorithm>
#include <utility>

namespace tapegrad::detail {

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
