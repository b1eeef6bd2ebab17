// Finds snippets, and shows them as lines of their own.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/tasks/settings/nearest.h>
#include <tapegrad/tutorials/sources.h>

#include <algorithm>
#include <sstream>
#include <vector>

namespace tapegrad::tasks::tutorial {
namespace {

const Snippet& find_snippet(std::string_view name) {
  const std::span<const Snippet> all = snippets();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Snippet& one) { return one.name == name; });
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const Snippet& one : all) names.emplace_back(one.name);
  fail("tutorial", fmt::format("unknown snippet \"{}\"{}", name, did_you_mean(name, names)));
}

}  // namespace

std::string snippet(std::string_view name) {
  std::istringstream text{std::string(find_snippet(name).text)};
  std::vector<std::string> lines;
  std::size_t common = std::string::npos;
  for (std::string line; std::getline(text, line);) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first != std::string::npos && line.compare(first, 4, "// [") == 0) continue;  // a marker
    if (first != std::string::npos) common = std::min(common, first);
    lines.push_back(line);
  }
  std::string out;
  for (const std::string& line : lines) out += (line.size() > common ? line.substr(common) : "") + '\n';
  const std::size_t begin = out.find_first_not_of('\n');
  if (begin == std::string::npos) return {};
  return out.substr(begin, out.find_last_not_of('\n') + 2 - begin);
}

std::string_view program_of(std::string_view name) { return find_snippet(name).program; }

}  // namespace tapegrad::tasks::tutorial
