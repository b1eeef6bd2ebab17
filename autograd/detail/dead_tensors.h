// Drops the tangents of a tensor that is freed (forward_pass.h).
#pragma once

#include <cstdint>

namespace tapegrad::detail {

/// Whether TapeIndex::tape is the number of a forward pass, or of a tape that takes part in one: these are odd, the
/// numbers of other tapes are even, and leaves have ~0.
inline bool is_of_forward_pass(uint64_t tape) { return (tape & 1) != 0 && tape != ~uint64_t{0}; }
/// Drops the tangents of the tensor at this TapeIndex.
void forget_tangents(uint64_t tape, int64_t position) noexcept;

}  // namespace tapegrad::detail
