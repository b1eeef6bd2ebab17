// Checks of options that several optimisers share.
#pragma once

#include <fmt/format.h>
#include <tapegrad/autograd/error.h>

#include <cmath>
#include <string_view>

namespace tapegrad::optim {

/// Error unless 0 <= value < 1.
inline void check_fraction(std::string_view where, std::string_view name, double value) {
  if (!(value >= 0 && value < 1)) fail(where, fmt::format("{} must be in [0, 1), got {}", name, value));
}

/// Error unless finite and not negative.
inline void check_not_negative(std::string_view where, std::string_view name, double value) {
  if (!(value >= 0 && std::isfinite(value))) {
    fail(where, fmt::format("{} must be finite and not negative, got {}", name, value));
  }
}

inline void check_eps(std::string_view where, double eps) { check_not_negative(where, "eps", eps); }

/// beta1, beta2 and eps of Adam and its relatives.
template <class Options>
void check_moments(std::string_view where, const Options& options) {
  check_fraction(where, "beta1", options.beta1);
  check_fraction(where, "beta2", options.beta2);
  check_eps(where, options.eps);
}

}  // namespace tapegrad::optim
