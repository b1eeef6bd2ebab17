// The Korean messages: one for every text of help, with the same numbers and options, and no other.
#include <gtest/gtest.h>
#include <tapegrad/tasks/help_texts.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/language/tables.h>
#include <tapegrad/tests/support/command_runner.h>

#include <regex>
#include <set>

namespace tapegrad::tests {
namespace {

using Pieces = std::multiset<std::string>;

// Options, numbers and placeholders, as "--lr", "-1.5" and "{message}". A Korean sentence may begin with "3분의 1" for
// a third, so numbers that English writes as words are not compared.
Pieces pieces_of(std::string_view text, const std::regex& form) {
  Pieces found;
  using Matches = std::regex_iterator<std::string_view::const_iterator>;
  for (Matches it(text.begin(), text.end(), form), end; it != end; ++it) found.insert(it->str());
  return found;
}

TEST(KoreanMessages, EveryTextOfHelpHasOneAndNoneIsUnused) {
  std::set<std::string> used;
  for (const std::string& text : tasks::help_texts()) {
    used.insert(text);
    EXPECT_NE(tasks::in_language(text, tasks::tutorial::Language::ko), text) << "no Korean message";
    EXPECT_EQ(tasks::in_language(text, tasks::tutorial::Language::en), text);
  }
  for (const tasks::Message& message : tasks::language::reports()) used.emplace(message.en);  // KoreanReport
  std::set<std::string_view> keys;
  for (const auto& table : tasks::all_messages()) {
    for (const tasks::Message& message : table) {
      EXPECT_TRUE(keys.insert(message.en).second) << "twice: " << message.en;
      EXPECT_TRUE(used.contains(std::string(message.en))) << "unused: " << message.en;
    }
  }
}

TEST(KoreanMessages, HaveTheSameOptionsNumbersAndPlaceholders) {
  const std::regex options("--[a-z-]*[a-z]"), placeholders("\\{[a-z]+\\}"), decimals("[0-9]+\\.[0-9.]*[0-9]");
  for (const auto& table : tasks::all_messages()) {
    for (const auto& [en, ko] : table) {
      for (const std::regex& form : {options, placeholders, decimals})
        EXPECT_EQ(pieces_of(en, form), pieces_of(ko, form)) << en << "\n" << ko;
      const std::regex numbers("[0-9]+");
      const Pieces of_korean = pieces_of(ko, numbers);
      for (const std::string& number : pieces_of(en, numbers))
        EXPECT_TRUE(of_korean.contains(number)) << en << "\n" << ko;
    }
  }
}

TEST(KoreanMessages, OptionAndLocaleChooseThem) {
  const std::string english = run_command({"help", "train", "copy", "--lang", "en"}).out;
  EXPECT_NE(english.find("Usage: tapegrad train copy [options]"), std::string::npos);
  const Ran korean = run_command({"help", "train", "copy", "--lang", "ko"});
  EXPECT_EQ(korean.code, 0);
  EXPECT_NE(korean.out.find("사용법: tapegrad train copy [옵션]"), std::string::npos) << korean.out;
  EXPECT_NE(korean.out.find("학습률:"), std::string::npos);
  expect_narrow(korean.out);
  for (const char* const variable : {"TAPEGRAD_LANG=ko", "LC_ALL=ko_KR.UTF-8"})
    EXPECT_EQ(run_command({"help", "train", "copy"}, {.environment = {variable}}).out, korean.out) << variable;
  EXPECT_EQ(run_command({"--lang=ko", "help", "train", "copy"}).out, korean.out);
  EXPECT_NE(run_command({"--lang", "ko", "help"}).out.find("\n명령:\n"), std::string::npos);
}

TEST(KoreanMessages, ErrorsStayEnglish) {
  expect_error(run_command({"--lang", "ko", "train", "copi"}), 2, {"unknown task \"copi\"", "did you mean copy"});
  expect_error(run_command({"--lang", "fr", "help"}), 2, {"--lang", "must be one of ko, en, got \"fr\""});
  expect_error(run_command({"help", "--lang"}), 2, {"--lang", "expected a value, got none"});
}

}  // namespace
}  // namespace tapegrad::tests
