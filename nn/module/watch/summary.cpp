// The summary of a model: a line for each member.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/nn/summary.h>

#include <algorithm>

namespace tapegrad::nn::detail {

namespace {

std::string notes_of(const std::vector<WatchedMember>& members, std::size_t index) {
  const WatchedMember& member = members[index];
  std::vector<std::string> notes;
  if (member.kind == WatchedMember::Kind::buffer) notes.push_back("buffer");
  if (member.first != index) notes.push_back("tied to " + members[member.first].path);
  if (member.frozen) notes.push_back("frozen");
  return notes.empty() ? "" : fmt::format("  ({})", fmt::join(notes, ", "));
}

struct SummaryLine {
  std::string name, type = {}, shape = {}, count = {}, notes = {};
};

SummaryLine line_of(const std::vector<WatchedMember>& members, std::size_t index) {
  const WatchedMember& member = members[index];
  const bool module = member.kind == WatchedMember::Kind::module;
  SummaryLine line{.name = std::string(2 * member.depth, ' ') + member.name, .notes = notes_of(members, index)};
  if (module && !member.path.empty()) line.type = member.type;  // the name of the model is its type
  if (!module && member.path.empty())
    line.name = member.kind == WatchedMember::Kind::parameter ? "parameter" : "buffer";
  if (member.shape) line.shape = (module ? "-> " : "") + str(*member.shape);
  if (module || (member.kind == WatchedMember::Kind::parameter && member.first == index))
    line.count = fmt::format("{}", member.count);
  return line;
}

}  // namespace

void find_names(std::string_view signature, std::span<std::string_view> names) {
  const std::string_view before = signature.find("& imagined") == std::string_view::npos ? "&imagined" : "& imagined";
  std::size_t end = signature.rfind('}');
  for (std::size_t i = names.size(); i-- > 0;) {
    const std::size_t last = signature.find_last_not_of(")}", end);
    const std::size_t first = signature.find_last_of(".:", last) + 1;
    names[i] = signature.substr(first, last + 1 - first);
    if (i > 0) end = signature.rfind(", ", signature.rfind(before, first)) - 1;
  }
}

std::string_view short_type_name(std::string_view signature) {
  const std::size_t start = signature.find("T = ") + 4;
  std::string_view name = signature.substr(start);
  if (name.find("lambda") < name.find_first_of("<;]") + 8) return "function";
  name = name.substr(0, name.find_first_of("<;]"));
  const std::size_t space = name.rfind("::");
  return space == std::string_view::npos ? name : name.substr(space + 2);
}

std::string summary_of(const Watched& seen) {
  std::vector<SummaryLine> lines{{"name", "type", "shape", "count", ""}};
  int64_t total = 0, frozen = 0;
  for (std::size_t i = 0; i < seen.members.size(); ++i) {
    lines.push_back(line_of(seen.members, i));
    if (seen.members[i].kind != WatchedMember::Kind::parameter) continue;
    total += seen.members[i].count;
    if (seen.members[i].frozen) frozen += seen.members[i].count;
  }
  lines.push_back({"parameters", "", "", fmt::format("{}", total), ""});
  if (frozen > 0) lines.push_back({"trainable", "", "", fmt::format("{}", total - frozen), ""});
  std::size_t name = 0, type = 0, shape = 0, count = 0;
  for (const SummaryLine& line : lines) {
    name = std::max(name, line.name.size());
    type = std::max(type, line.type.size());
    shape = std::max(shape, line.shape.size());
    count = std::max(count, line.count.size());
  }
  std::string table;
  for (const SummaryLine& line : lines) {
    const std::string text = fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>{}}{}", line.name, name, line.type, type,
                                         line.shape, shape, line.count, count, line.notes);
    table += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }
  return table;
}

}  // namespace tapegrad::nn::detail
