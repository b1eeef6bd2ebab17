// Parses stanzas.
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/io/internal/checksum.h>
#include <tapegrad/tasks/text/corpus/packages.h>
#include <tapegrad/train/data/utf8.h>

namespace tapegrad::tasks {
namespace {

using FieldList = std::vector<std::pair<std::string_view, std::string>>;

std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// Reads one stanza, up to an empty line. Continuation lines keep their first space.
FieldList next_stanza(std::string_view& text) {
  FieldList fields;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (trimmed(line).empty()) {
      if (fields.empty()) continue;
      break;
    }
    const std::size_t colon = line.find(':');
    if (line.front() == ' ' || line.front() == '\t') {
      if (!fields.empty()) fields.back().second.append("\n").append(line);
    } else if (colon != std::string_view::npos) {
      fields.emplace_back(line.substr(0, colon), trimmed(line.substr(colon + 1)));
    }
  }
  return fields;
}

const std::string* find(const FieldList& fields, std::string_view name) {
  for (const auto& [key, value] : fields)
    if (key == name) return &value;
  return nullptr;
}

// The lines of a paragraph become one; lines of a list (two spaces or more) stay lines; " ." ends a paragraph.
std::string joined_lines(std::string_view text) {
  std::string out;
  bool begins = true;
  while (!text.empty()) {
    const std::string_view line = next_line(text), words = trimmed(line);
    const bool listed = line.starts_with("  ") || words.starts_with("* ") || words.starts_with("- ");
    if (words.empty() || words == ".") {
      begins = true;
      continue;
    }
    if (!out.empty()) out += begins || listed ? '\n' : ' ';
    out += words;
    begins = false;
  }
  return data::valid_utf8(out);
}

void describe(Package& package, std::string_view description) {
  package.synopsis = data::valid_utf8(trimmed(next_line(description)));
  package.description = joined_lines(description);
}

}  // namespace

std::vector<Package> parse_packages(std::string_view packages) {
  std::vector<Package> all;
  while (!packages.empty()) {
    const FieldList fields = next_stanza(packages);
    const std::string *name = find(fields, "Package"), *section = find(fields, "Section");
    const std::string* description = find(fields, "Description");
    if (name == nullptr || section == nullptr || description == nullptr) continue;
    Package package{.name = data::valid_utf8(*name)};
    package.section = data::valid_utf8(section->substr(section->rfind('/') + 1));
    package.source = package.name;
    if (const std::string* source = find(fields, "Source"))
      package.source = data::valid_utf8(source->substr(0, source->find(' ')));
    describe(package, *description);
    if (package.synopsis.empty() || package.description.empty()) continue;
    for (const auto& [key, value] : fields)
      if (!key.starts_with("Description") && value.find('\n') == std::string::npos && !value.empty())
        package.fields.emplace_back(key, data::valid_utf8(value));
    all.push_back(std::move(package));
  }
  return all;
}

uint64_t text_hash(std::string_view text) { return checksum(bytes_of(text)); }

}  // namespace tapegrad::tasks
