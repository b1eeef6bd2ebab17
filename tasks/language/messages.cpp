// Looks messages up.
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/language/tables.h>

#include <unordered_map>

namespace tapegrad::tasks {

std::span<const std::span<const Message>> all_messages() {
  static const std::span<const Message> kTables[] = {
      language::verbs(),    language::training(), language::models(),  language::data(),     language::trained(),
      language::pictures(), language::reports(),  language::topics(),  language::measured(), language::explained(),
      language::player(),   language::analysis(), language::figures(), language::proofs()};
  return kTables;
}

std::string_view in_language(std::string_view english, tutorial::Language language) {
  static const std::unordered_map<std::string_view, std::string_view> kKorean = [] {
    std::unordered_map<std::string_view, std::string_view> korean;
    for (const auto& table : all_messages())
      for (const Message& message : table) korean.emplace(message.en, message.ko);
    return korean;
  }();
  if (language == tutorial::Language::en) return english;
  const auto found = kKorean.find(english);
  return found == kKorean.end() ? english : found->second;
}

std::string_view shown(std::string_view english) { return in_language(english, tutorial::language_of_locale()); }

std::string said(std::string_view english) { return std::string(shown(english)); }

}  // namespace tapegrad::tasks
