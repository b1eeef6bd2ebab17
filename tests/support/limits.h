// The numbers at the ends of the types.
#pragma once

#include <cstdint>
#include <limits>

namespace tapegrad::tests {

inline constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr int64_t kMax = std::numeric_limits<int64_t>::max(), kMin = std::numeric_limits<int64_t>::min();

}  // namespace tapegrad::tests
