// Makes examples from package records, and reads and writes their files.
#include <fmt/format.h>
#include <tapegrad/autograd/io/checksum.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/tasks/settings/run_request.h>
#include <tapegrad/tasks/text/corpus/corpus.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace tapegrad::tasks {
namespace {

constexpr std::size_t kLongestTarget = 200;
// The fields that questions are about. Persons are left out.
constexpr std::string_view kAsked[] = {"Version",  "Architecture", "Installed-Size", "Priority",
                                       "Section",  "Depends",      "Recommends",     "Suggests",
                                       "Homepage", "Multi-Arch",   "Provides",       "Breaks"};

std::string without_digits(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c < '0' || c > '9') out += c;
  return out;
}

uint64_t hash(std::string_view text) { return checksum(bytes_of(text)); }

TextExample classified(const Package& p) {
  return {.text = fmt::format("{}\n{}", p.synopsis, p.description), .target = p.section};
}

TextExample summarized(const Package& p) { return {.text = p.description, .target = p.synopsis}; }

// The record as lines, in an order that its name decides, and one field of it, which the name decides, too.
TextExample asked(const Package& p) {
  std::vector<std::pair<std::string, std::string>> fields;
  for (const auto& [key, value] : p.fields)
    if (std::find(std::begin(kAsked), std::end(kAsked), key) != std::end(kAsked) && value.size() <= kLongestTarget)
      fields.emplace_back(key, value);
  fields.emplace_back("Package", p.name);
  fields.emplace_back("Description", p.synopsis);
  std::sort(fields.begin(), fields.end(),
            [&](const auto& a, const auto& b) { return hash(a.first + ' ' + p.name) < hash(b.first + ' ' + p.name); });
  const std::size_t chosen = hash(p.name) % fields.size();
  TextExample example{.question = fields[chosen].first};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    example.text += fields[i].first + ": ";
    if (i == chosen) example.start = static_cast<int64_t>(example.text.size()), example.target = fields[i].second;
    example.text += fields[i].second + '\n';
  }
  return example;
}

TextExample example_of(TextTask task, const Package& package) {
  return task == TextTask::classify    ? classified(package)
         : task == TextTask::summarize ? summarized(package)
                                       : asked(package);
}

std::string_view target_key(TextTask task) {
  return task == TextTask::classify ? "label" : task == TextTask::summarize ? "summary" : "answer";
}

std::string line_of(TextTask task, const TextExample& example) {
  nlohmann::ordered_json json{{"text", example.text}};
  if (task == TextTask::answer) json["question"] = example.question;
  json[std::string(target_key(task))] = example.target;
  if (task == TextTask::answer) json["start"] = example.start;
  return json::text_of(json) + "\n";
}

TextExample read_line(TextTask task, std::string_view line, const std::string& where) {
  const auto refuse = [&](const std::string& why) { bad_request("--data", fmt::format("{} {}", where, why)); };
  const nlohmann::json json = json::parse(line, refuse);
  if (!json.is_object()) refuse("is not a JSON object");
  const auto text = [&](std::string_view key) {
    const auto found = json.find(std::string(key));
    if (found == json.end() || !found->is_string()) refuse(fmt::format("has no text \"{}\"", key));
    return found->get<std::string>();
  };
  TextExample example{.text = text("text"), .target = text(target_key(task))};
  if (task != TextTask::answer) return example;
  example.question = text("question");
  const auto start = json.find("start");
  if (start == json.end() || !start->is_number_integer()) refuse("has no whole number \"start\"");
  example.start = start->get<int64_t>();
  const bool inside = example.start >= 0 && example.start <= static_cast<int64_t>(example.text.size());
  if (!inside ||
      example.text.compare(static_cast<std::size_t>(example.start), example.target.size(), example.target) != 0)
    refuse(fmt::format("has no answer at byte {} of its text", example.start));
  return example;
}

std::filesystem::path file_of(const std::filesystem::path& folder, TextTask task, std::size_t part) {
  return folder / fmt::format("{}.{}.jsonl", name(task), kPartNames[part]);
}

std::vector<TextExample> read_examples(const std::string& path, TextTask task) {
  require_file("--data", path);
  const std::string all = as_bad_request("--data", [&] { return read_file(path); });
  std::vector<TextExample> examples;
  std::string_view rest = all;
  for (int64_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!line.empty()) examples.push_back(read_line(task, line, fmt::format("{}, line {},", path, number)));
  }
  require(!examples.empty(), "--data", fmt::format("{} has no examples", path));
  return examples;
}

}  // namespace

std::string_view name(TextTask task) { return kTextTaskNames[static_cast<std::size_t>(task)]; }

Part part_of(std::string_view source) {
  const uint64_t share = hash(without_digits(source)) % 10;
  return share < 8 ? Part::train : share == 8 ? Part::validation : Part::test;
}

Corpus make_corpus(TextTask task, std::span<const Package> packages, int64_t least) {
  std::unordered_set<std::string> seen;
  std::vector<std::pair<Part, TextExample>> kept;
  std::map<std::string, int64_t> sizes;
  for (const Package& package : packages) {
    TextExample example = example_of(task, package);
    const bool fits =
        !example.target.empty() && (task == TextTask::classify || example.target.size() <= kLongestTarget);
    if (!fits || !seen.insert(without_digits(example.text)).second) continue;
    ++sizes[example.target];
    kept.emplace_back(part_of(package.source), std::move(example));
  }
  Corpus corpus;
  for (auto& [part, example] : kept)
    if (task != TextTask::classify || sizes[example.target] >= least)
      corpus.parts[static_cast<std::size_t>(part)].push_back(std::move(example));
  return corpus;
}

void save_corpus(const std::filesystem::path& folder, TextTask task, const Corpus& corpus) {
  for (std::size_t part = 0; part < corpus.parts.size(); ++part) {
    std::string lines;
    for (const TextExample& example : corpus.parts[part]) lines += line_of(task, example);
    replace_file(file_of(folder, task, part), lines);
  }
}

Corpus load_corpus(const std::string& folder, TextTask task) {
  if (folder.empty()) return make_corpus(task, parse_packages(made_packages(), {}), 1);
  Corpus corpus;
  for (std::size_t part = 0; part < corpus.parts.size(); ++part)
    corpus.parts[part] = read_examples(file_of(folder, task, part).string(), task);
  return corpus;
}

}  // namespace tapegrad::tasks
