// Memory for a worker thread.
#pragma once

namespace tapegrad::pool {

/// Makes this thread's cache of blocks, which requests memory from the system, now rather than in the first step.
void make_thread_cache();

}  // namespace tapegrad::pool
