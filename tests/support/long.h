// Tests that take minutes run only with TAPEGRAD_LONG=1 in the environment.
#pragma once

#include <cstdlib>
#include <string_view>

namespace tapegrad::tests {

inline bool long_tests_are_wanted() {
  const char* value = std::getenv("TAPEGRAD_LONG");
  return value && std::string_view(value) == "1";
}

}  // namespace tapegrad::tests
