// A text of the command in both languages.
#pragma once

#include <span>
#include <string_view>

namespace tapegrad::tasks {

struct Message {
  std::string_view en, ko;
};

}  // namespace tapegrad::tasks
