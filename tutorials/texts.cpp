// Parses the text files, each once.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/tasks/language/texts.h>
#include <tapegrad/tutorials/texts.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace tapegrad::tasks::tutorial {
namespace {

const std::vector<Entry>& parsed(const std::string& name) {
  static std::map<std::string, std::vector<Entry>> files;
  if (const auto known = files.find(name); known != files.end()) return known->second;
  return files.emplace(name, entries_of({name, text_of_file(fmt::format("tutorials/{}.txt", name))})).first->second;
}

}  // namespace

std::vector<Entry> entries_of(const EmbeddedFile& file) {
  std::vector<Entry> entries;
  std::istringstream text{std::string(file.text)};
  std::string blank;  // lines, which belong to an entry if more of its lines follow
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with('#')) continue;
    if (line.empty()) {
      blank += '\n';
    } else if (line.starts_with("  ") && !entries.empty()) {
      entries.back().lines += blank + line.substr(2) + '\n';
      blank.clear();
    } else {
      const std::size_t colon = line.find(':');
      if (colon == line.npos) {
        fail("tutorial", fmt::format("{}: expected \"key: value\" or an indented line, got \"{}\"", file.name, line));
      }
      entries.push_back({line.substr(0, colon), line.substr(std::min(colon + 2, line.size())), {}, {}});
      blank.clear();
    }
  }
  for (Entry& entry : entries) {
    std::istringstream words(entry.value + ' ' + entry.lines);
    for (std::string word; words >> word;) entry.text += (entry.text.empty() ? "" : " ") + word;
  }
  return entries;
}

EntryReader::EntryReader(std::string_view name) : name_(name), entries_(&parsed(name_)) {}

void EntryReader::expected(std::string_view what) const {
  const bool end = next_ == entries_->size();
  fail("tutorial", fmt::format("{}, entry {}: expected {}, got {}", name_, next_ + 1, what,
                               end ? "the end" : fmt::format("\"{}\"", (*entries_)[next_].key)));
}

const Entry* EntryReader::take_if(std::string_view key) {
  return next_ < entries_->size() && (*entries_)[next_].key == key ? &(*entries_)[next_++] : nullptr;
}

const Entry& EntryReader::take(std::string_view key) {
  const Entry* const entry = take_if(key);
  if (entry == nullptr) expected(fmt::format("\"{}\"", key));
  return *entry;
}

Text EntryReader::take_text() {
  const std::string_view korean = take("ko").text;
  return {korean, take("en").text};
}

Text EntryReader::take_text_if() {
  return next_ < entries_->size() && (*entries_)[next_].key == "ko" ? take_text() : Text{};
}

void EntryReader::expect_end() const {
  if (next_ < entries_->size()) expected("the end");
}

}  // namespace tapegrad::tasks::tutorial
