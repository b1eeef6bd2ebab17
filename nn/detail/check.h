// Checks of what a model is configured with.
#pragma once

#include <cstdint>
#include <string_view>

namespace tapegrad::nn {

// Error "[where] name is 0, it must be positive" unless value > 0.
void require_positive(std::string_view where, std::string_view name, int64_t value);
// Error unless 0 <= p <= 1.
void require_probability(std::string_view where, std::string_view name, double p);

}  // namespace tapegrad::nn
