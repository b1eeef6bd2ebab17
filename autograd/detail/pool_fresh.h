// Memory that the system has just cleared, so that nothing clears it again.
#pragma once

#include <cstddef>

namespace tapegrad::pool {

/// Whether these bytes are zero, because they are in the last block that this thread acquired, and nothing has been
/// written there since it came from the system. Ask before writing to a new block; false for up to 256 KiB.
bool is_fresh(const void* data, std::size_t bytes);

}  // namespace tapegrad::pool
