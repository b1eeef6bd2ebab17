// One line per check. The test ends at the first check that fails.
#pragma once

#include <cstdio>
#include <cstdlib>

inline void check(bool holds, const char* what) {
  std::printf("%s: %s\n", holds ? "passed" : "FAILED", what);
  if (!holds) std::exit(1);
}
