// The gradient of a table of which an operation has read some rows.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

/// A gradient [rows, columns] that is 0 except in the rows `ids`: that of a table whose embedding() was `sparse`.
struct RowGradient {
  int64_t rows = 0;  ///< of the table
  Tensor ids;        ///< int64 [n], ascending, each once; empty handle: there is no gradient
  Tensor values;     ///< [n, columns]
  bool defined() const { return ids.defined(); }  ///< whether there is one
  Tensor dense() const;                           ///< [rows, columns], not recorded
  /// Adds it to x [rows, columns], which is contiguous and has no other handle.
  void add_to(const Tensor& x) const;
  /// The sum of two gradients of one table.
  RowGradient& operator+=(const RowGradient& more);
};

/// The gradient of embedding() from that of its result: dy [n, columns] and ids int64 [n], contiguous and in range. The
/// gradients of an id are added in their order, except those of the id `skipped`.
RowGradient row_gradient(const Tensor& dy, int64_t rows, const Tensor& ids, int64_t skipped = -1);

}  // namespace tapegrad
