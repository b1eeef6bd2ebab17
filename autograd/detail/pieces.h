// How work is cut.
#pragma once

#include <cstdint>

namespace tapegrad {

/// The number of pieces of at most `most` elements (1 if it is less) that `size` elements make.
constexpr int64_t pieces_of(int64_t size, int64_t most) { return most < 1 ? size : (size + most - 1) / most; }

}  // namespace tapegrad
