// The end of `test`, for every kind of run: what was found is printed and drawn, and compared with the target.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tapegrad::tasks {

/// What a test has found.
struct Tested {
  nlohmann::ordered_json json;
  std::string text;          ///< the same for people; whole lines
  std::string drawing = {};  ///< for --draw: the contents of the file
  std::string failure = {};  ///< what is below its target; empty: nothing
};

/// Prints text or JSON, and writes the drawing into the file `draw`, unless that is empty. Returns the exit code 0.
/// Error about `where` for a failure.
int report_test(const Tested& tested, std::string_view where, bool json, const std::string& draw = "");
/// BadRequest about --draw unless the file ends in one of the suffixes and can be written.
void check_drawing(const std::string& draw, std::string_view suffix, std::string_view other_suffix = "");

}  // namespace tapegrad::tasks
