// Divides work into pieces.
#pragma once

#include <cstdint>

namespace tapegrad {

/// The number of pieces of at most `most` elements into which `size` elements are divided; `most` below 1 counts as 1.
constexpr int64_t pieces_of(int64_t size, int64_t most) { return most < 1 ? size : (size + most - 1) / most; }

}  // namespace tapegrad
