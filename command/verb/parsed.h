// What parsing a command line found.
#pragma once

#include <tapegrad/tasks/settings/command_line.h>

#include <cstdint>
#include <optional>

namespace tapegrad::tasks {

/// What parsing found: each verb's callback stores what to run.
struct Parsed {
  std::optional<int64_t> threads;
  Run run;

  /// --threads, which all verbs that compute have.
  void list(Fields& f) {
    Options{f}("threads", "number of threads; results do not depend on it", threads, {.least = 1, .most = 1024})
        .otherwise("all");
  }
};

}  // namespace tapegrad::tasks
