// Stores past the caches, for results that no cache can hold.
#pragma once

#include <cstdint>

namespace tapegrad {

/// Copies bytes without loading their destination into a cache. `to` must be aligned to 64 bytes. A pause in the middle
/// of a line of 64 bytes costs time, so `bytes` should be a multiple of that, except for the last piece.
void stream_copy(void* to, const void* from, int64_t bytes);

/// After the last stream_copy of a thread: makes its stores visible to other threads before anything stored later.
void end_streams();

}  // namespace tapegrad
