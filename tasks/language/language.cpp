// Reads the reader's language from the environment.
#include <tapegrad/tasks/language/language.h>

#include <cstdlib>
#include <optional>
#include <string>

namespace tapegrad::tasks {
namespace {

constexpr const char* kVariable = "TAPEGRAD_LANG";

thread_local std::optional<Language> scope;

}  // namespace

std::string_view code_of(Language language) { return language == Language::ko ? "ko" : "en"; }

Language language_of_locale() {
  if (scope) return *scope;
  for (const char* const name : {kVariable, "LC_ALL", "LC_MESSAGES", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    return std::string_view(value).starts_with("ko") ? Language::ko : Language::en;
  }
  return Language::en;
}

void set_language(Language language) { setenv(kVariable, std::string(code_of(language)).c_str(), 1); }

LanguageScope::LanguageScope(Language language) : before_(scope) { scope = language; }
LanguageScope::~LanguageScope() { scope = before_; }

}  // namespace tapegrad::tasks
