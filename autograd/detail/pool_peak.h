// The most memory in use at once, for measurements.
#pragma once

#include <cstdint>

namespace tapegrad::pool {

/// The most bytes that were in use at once, in blocks of more than 64 KiB, since the start of the process or since
/// reset_peak().
int64_t peak();
/// From now on peak() is about what is in use now and later.
void reset_peak();

}  // namespace tapegrad::pool
