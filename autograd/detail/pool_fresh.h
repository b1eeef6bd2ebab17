// What the pool offers to the engine alone: whether memory has just been cleared by the system, so that it need not be
// cleared again, and the cache of a worker thread.
#pragma once

#include <cstddef>

namespace tapegrad::pool {

/// Whether these bytes are known to be zero: they are in the last large block that this thread acquired, which nobody
/// has written to since the system cleared it. Call it before writing to a new block; false for 256 KiB or less.
bool is_fresh(const void* data, std::size_t bytes);

/// Creates this thread's cache of blocks now rather than in the first step: that requests memory from the system.
void make_thread_cache();

}  // namespace tapegrad::pool
