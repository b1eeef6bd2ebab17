// The verb `exercise`: programming exercises about the tutorials, which the command checks.
#pragma once

#include <tapegrad/tasks/settings/settings.h>

#include <optional>
#include <string>
#include <vector>

namespace tapegrad::tasks::exercises {

struct Request {
  std::vector<std::string> words;                         // an exercise, and the reader's file
  bool skeleton = false, hint = false, solution = false;  // print the file to begin with, how to begin, a right file
  std::string compiler = "c++";                           // which compiles the file
  std::optional<std::string> language;                    // "ko" or "en"; none: that of the locale

  void list(Fields& f);
};

/// Lists the exercises; prints one, or its skeleton, hint or solution; or compiles and checks a file: 0 if it is right,
/// 1 if not. BadRequest for an unknown exercise, a file that does not exist or compile, and a compiler that does not
/// exist.
int run(const Request& request);

}  // namespace tapegrad::tasks::exercises
