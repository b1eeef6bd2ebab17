// Korean and English: texts in both, and the language that a reader wants.
#pragma once

#include <optional>
#include <string_view>

namespace tapegrad::tasks {

enum class Language { ko, en };

/// "ko" or "en", as in --lang and in <html lang>.
std::string_view code_of(Language language);
inline constexpr std::string_view kLanguageCodes[] = {"ko", "en"};

/// One text in both languages.
struct Text {
  std::string_view ko = {}, en = {};

  std::string_view in(Language language) const { return language == Language::ko ? ko : en; }
  bool empty() const { return ko.empty() && en.empty(); }
};

/// The language of the environment: Korean where the first of TAPEGRAD_LANG, LC_ALL, LC_MESSAGES and LANG that is set
/// begins with "ko", English otherwise.
Language language_of_locale();
/// Makes it the language of this process and its children, in the environment. Before other threads start.
void set_language(Language language);
/// For this thread, the language of the environment is another one while this lives.
class LanguageScope {
 public:
  explicit LanguageScope(Language language);
  ~LanguageScope();
  LanguageScope(const LanguageScope&) = delete;
  LanguageScope& operator=(const LanguageScope&) = delete;

 private:
  std::optional<Language> before_;
};

}  // namespace tapegrad::tasks
