// Limits: the numbers that an argument, an option or a member of a configuration accepts.
#pragma once

#include <limits>
#include <string>
#include <string_view>

namespace tapegrad {

/// From `least` to `most`, without the bounds that are open. NaN and the infinities are never accepted.
struct Limits {
  double least = -std::numeric_limits<double>::infinity();  ///< lower bound
  double most = std::numeric_limits<double>::infinity();    ///< upper bound
  bool open_below = false, open_above = false;              ///< the bound itself is excluded

  bool operator==(const Limits&) const = default;
  bool accept(double value) const {  ///< false for NaN
    return (open_below ? value > least : value >= least) && (open_above ? value < most : value <= most) &&
           value - value == 0;
  }
  /// "in [1, 10]", "> 0"
  std::string wording() const;
  /// "expected NAME > 0, got 0"; empty if the value is accepted.
  std::string fault(std::string_view name, double value) const;
};
/// Limits that occur often.
inline constexpr Limits kPositive{.least = 0, .open_below = true};
inline constexpr Limits kNotNegative{.least = 0};
inline constexpr Limits kShare{.least = 0, .most = 1};
inline constexpr Limits kBelowOne{.least = 0, .most = 1, .open_above = true};

/// The Error of require_in.
[[noreturn]] void fail_limits(std::string_view where, std::string_view name, double value, const Limits& limits);
/// Error "[where] expected dropout in [0, 1), got 1.5" unless the value is within the limits.
void require_in(std::string_view where, std::string_view name, auto value, const Limits& limits) {
  if (!limits.accept(static_cast<double>(value))) fail_limits(where, name, static_cast<double>(value), limits);
}

}  // namespace tapegrad
