// The check of quantised matrices.
#pragma once

#include <tapegrad/autograd/weight_format.h>

namespace tapegrad {

/// Error unless `m` is a matrix with `columns` columns.
void require_quantized(std::string_view where, const QuantizedMatrix& m, int64_t columns);

}  // namespace tapegrad
