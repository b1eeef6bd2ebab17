// What the pool offers to the engine alone: memory that the system has just cleared, so that nothing clears it again,
// and memory for a worker thread.
#pragma once

#include <cstddef>

namespace tapegrad::pool {

/// Whether these bytes are zero, because they are in the last block that this thread acquired, and nothing has been
/// written there since it came from the system. Ask before writing to a new block; false for up to 256 KiB.
bool is_fresh(const void* data, std::size_t bytes);

/// Makes this thread's cache of blocks, which requests memory from the system, now rather than in the first step.
void make_thread_cache();

}  // namespace tapegrad::pool
