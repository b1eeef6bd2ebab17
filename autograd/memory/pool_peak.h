// Peak memory use, for measurements.
#pragma once

#include <tapegrad/autograd/compiler.h>

#include <cstdint>

namespace tapegrad::pool {

/// The peak number of bytes in use, in blocks of more than 64 KiB, since the start of the process or since
/// reset_peak().
int64_t peak();
/// Restarts the measurement: peak() then covers the use from now on.
void reset_peak();

}  // namespace tapegrad::pool
