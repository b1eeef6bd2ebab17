// Looks messages up.
#include <tapegrad/tasks/language/messages.h>

#include <algorithm>
#include <unordered_map>

namespace tapegrad::tasks {

std::string_view in_language(std::string_view english, Language language) {
  static const std::unordered_map<std::string_view, std::string_view> kKorean = [] {
    std::unordered_map<std::string_view, std::string_view> korean;
    for (const Text& message : all_messages()) korean.emplace(message.en, message.ko);
    return korean;
  }();
  if (language == Language::en) return english;
  const auto found = kKorean.find(english);
  return found == kKorean.end() ? english : found->second;
}

std::string_view shown(std::string_view english) { return in_language(english, language_of_locale()); }

std::string said(std::string_view english) { return std::string(shown(english)); }

std::vector<std::string_view> parts_of_help(std::string_view english) {
  constexpr std::string_view kNext = "; ", kNamed = ": ";
  std::vector<std::string_view> parts;
  if (in_language(english, Language::ko) != english) return {english};
  for (std::string_view rest = english; !rest.empty();) {
    std::string_view part = rest.substr(0, rest.find(kNext));
    rest.remove_prefix(std::min(rest.size(), part.size() + kNext.size()));
    if (!parts.empty()) {
      const std::size_t name = part.find(kNamed);
      if (name == std::string_view::npos) return {english};
      part.remove_prefix(name + kNamed.size());
    }
    parts.push_back(part);
  }
  return parts;
}

std::string said_help(std::string_view english) {
  std::string out;
  const char* copied = english.data();
  for (const std::string_view part : parts_of_help(english)) {
    out.append(copied, part.data()).append(shown(part));
    copied = part.data() + part.size();
  }
  return out.append(copied, english.data() + english.size());
}

}  // namespace tapegrad::tasks
