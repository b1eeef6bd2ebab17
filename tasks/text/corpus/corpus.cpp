// Makes examples from package records, and reads and writes their files.
#include <fmt/format.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/io/internal/checksum.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/tasks/settings/verb_options.h>
#include <tapegrad/tasks/text/corpus/corpus.h>
#include <tapegrad/tasks/text/task.h>
#include <tapegrad/train/data/utf8.h>

#include <algorithm>
#include <unordered_set>

namespace tapegrad::tasks {
namespace {

std::string without_digits(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c < '0' || c > '9') out += c;
  return out;
}

std::string line_of(const TextTask& task, const TextExample& example) {
  Json json{{"text", example.text}};
  if (task.asks) json["question"] = example.question;
  json[std::string(task.words.target)] = example.target;
  if (task.asks) json["start"] = example.start;
  return json::text_of(json) + "\n";
}

// `more`: whether other lines follow, so that what is not complete is not the end of a file that was cut.
TextExample read_line(const TextTask& task, std::string_view line, const std::string& where, bool more) {
  const auto refuse = [&](const std::string& why) {
    const bool continues = more && why.starts_with(json::kIncomplete);
    bad_request("--data", "{} {}", where,
                continues ? "continues in the next line, expected one object per line (jq -c . FILE)" : why);
  };
  const Json json = json::parse(line, refuse);
  if (!json.is_object()) refuse("is not a JSON object");
  const auto text = [&](std::string_view key) {
    const Json& found = json[key];
    if (!found.is_string()) refuse(fmt::format("has no text \"{}\"", key));
    return found.get<std::string>();
  };
  TextExample example{.text = text("text"), .target = text(task.words.target)};
  if (!task.asks) return example;
  example.question = text("question");
  const Json& start = json["start"];
  if (!start.is_number_integer()) refuse("has no whole number \"start\"");
  example.start = start.get<int64_t>();
  const bool inside = example.start >= 0 && example.start <= static_cast<int64_t>(example.text.size());
  if (!inside ||
      example.text.compare(static_cast<std::size_t>(example.start), example.target.size(), example.target) != 0)
    refuse(fmt::format("has no answer at byte {} of its text", example.start));
  return example;
}

std::string file_of(const TextTask& task, std::size_t part) {
  return fmt::format("{}.{}.jsonl", task.words.name, kPartNames[part]);
}

std::vector<TextExample> read_examples(const std::string& path, const TextTask& task) {
  require_file("--data", path);
  const std::string all = as_bad_request("--data", [&] { return read_file(path); });
  std::vector<TextExample> examples;
  std::string_view rest = all;
  for (int64_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    examples.push_back(read_line(task, line, fmt::format("{}, line {},", path, number), !rest.empty()));
  }
  require(!examples.empty(), "--data", "{} has no examples", path);
  return examples;
}

// --- package records ---

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

}  // namespace

Part part_of(std::string_view source) {
  const uint64_t share = text_hash(without_digits(source)) % 10;
  return share < 8 ? Part::train : share == 8 ? Part::validation : Part::test;
}

Corpus make_corpus(const TextTask& task, std::span<const Package> packages) {
  std::unordered_set<std::string> seen;
  Corpus corpus;
  for (const Package& package : packages) {
    TextExample example = task.example_of(package);
    const bool fits = !example.target.empty() && (task.has_classes || example.target.size() <= kLongestTarget);
    if (!fits || !seen.insert(without_digits(example.text)).second) continue;
    corpus.parts[static_cast<std::size_t>(part_of(package.source))].push_back(std::move(example));
  }
  return corpus;
}

void save_corpus(const std::filesystem::path& folder, const TextTask& task, const Corpus& corpus) {
  for (std::size_t part = 0; part < corpus.parts.size(); ++part) {
    std::string lines;
    for (const TextExample& example : corpus.parts[part]) lines += line_of(task, example);
    replace_file({folder, file_of(task, part)}, lines);
  }
}

Corpus load_corpus(const std::string& folder, const TextTask& task) {
  if (folder.empty()) return make_corpus(task, parse_packages(made_packages()));
  Corpus corpus;
  for (std::size_t part = 0; part < corpus.parts.size(); ++part)
    corpus.parts[part] = read_examples(std::filesystem::path(folder) / file_of(task, part), task);
  return corpus;
}

// --- package records ---

std::vector<Package> parse_packages(std::string_view packages) {
  std::vector<Package> all;
  while (!packages.empty()) {
    const FieldList fields = next_stanza(packages);
    const std::string *name = find(fields, "Package"), *section = find(fields, "Section");
    const std::string* whole = find(fields, "Description");
    if (name == nullptr || section == nullptr || whole == nullptr) continue;
    Package package{.name = data::valid_utf8(*name)};
    package.section = data::valid_utf8(section->substr(section->rfind('/') + 1));
    package.source = package.name;
    if (const std::string* source = find(fields, "Source"))
      package.source = data::valid_utf8(source->substr(0, source->find(' ')));
    std::string_view description = *whole;
    package.synopsis = data::valid_utf8(trimmed(next_line(description)));
    package.description = joined_lines(description);
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
