// Numbers of things for people.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tapegrad::tasks {

// "1 epoch", "2 epochs".
inline std::string counted(int64_t count, std::string_view unit) {
  return fmt::format("{} {}{}", count, unit, count == 1 ? "" : "s");
}

}  // namespace tapegrad::tasks
