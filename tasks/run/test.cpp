// Prints and draws what a test has found.
#include <fmt/format.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/tasks/run/test.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/settings/output.h>

#include <cstdio>
#include <filesystem>

namespace tapegrad::tasks {

int report_test(const Tested& tested, std::string_view where, bool json, const std::string& draw) {
  json ? print_now(json::text_of(tested.json) + "\n") : print_text(tested.text);
  if (!draw.empty()) as_bad_request("--draw", [&] { replace_file(draw, tested.drawing); });
  std::fflush(stdout);
  if (!tested.failure.empty()) fail(where, tested.failure);
  return 0;
}

void check_drawing(const std::string& draw, std::string_view suffix, std::string_view other) {
  if (draw.empty()) return;
  const std::string found = std::filesystem::path(draw).extension();
  if (found != suffix && (other.empty() || found != other)) {
    bad_request("--draw", other.empty() ? fmt::format("{} does not end in {}", draw, suffix)
                                        : fmt::format("{} ends neither in {} nor in {}", draw, suffix, other));
  }
  as_bad_request("--draw", [&] { check_replaceable(draw); });
}

}  // namespace tapegrad::tasks
