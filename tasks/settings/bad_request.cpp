#include <fmt/format.h>
#include <tapegrad/tasks/settings/bad_request.h>

namespace tapegrad::tasks {

void refuse(std::string_view where, std::string_view message) {
  throw BadRequest(fmt::format("[{}] {}", where, message));
}

}  // namespace tapegrad::tasks
