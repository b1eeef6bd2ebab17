// Reads the files of texts, once each.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tapegrad/test_paths.h>
#include <tapegrad/tests/support/texts.h>

#include <fstream>
#include <map>
#include <set>

namespace tapegrad::tests {
namespace {

using Texts = std::map<std::string, std::string>;  // by code without spaces

std::set<std::string> used;  // by the test that runs

std::string without_spaces(std::string code) {
  std::erase(code, ' ');
  return code;
}

// "Suite.Test" of the test that runs, without the names of parameters.
std::string running_test() {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  const std::string suite = test.test_suite_name(), name = test.name();
  return suite.substr(suite.find('/') + 1) + "." + name.substr(0, name.find('/'));
}

// The texts of the test that runs, of a source file below tests/.
const Texts& texts_of_test(const char* path) {
  static std::map<std::string, std::map<std::string, Texts>> all;
  const std::string file = path;
  const auto [at, fresh] = all.try_emplace(file);
  if (fresh) {
    std::ifstream lines(kTestsDir +
                        file.substr(file.rfind("/tests/") + 6, file.rfind('.') - file.rfind("/tests/") - 6) + ".txt");
    std::string test, code;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("# ")) {
        test = line.substr(2);
      } else if (line.starts_with("  ")) {
        std::string& text = at->second[test][code];
        const bool begins = text.empty();
        if (!begins && !text.ends_with('\n')) text += '\n';
        text += line.substr(2) + (begins ? "" : "\n");
      } else {
        code = without_spaces(line);
      }
    }
  }
  return at->second[running_test()];
}

}  // namespace

void expect_text(const std::string& code, const std::string& text, const char* file, int line) {
  const Texts& texts = texts_of_test(file);
  const auto expected = texts.find(without_spaces(code));
  if (expected == texts.end()) {
    ADD_FAILURE_AT(file, line) << "no text of " << code << ", which gives\n  " << text;
    return;
  }
  used.insert(expected->first);
  if (expected->second != text)
    ADD_FAILURE_AT(file, line) << code << " gives\n  " << text << "\nexpected\n  " << expected->second;
}

void expect_text(const std::string& code, const std::vector<std::string>& lines, const char* file, int line) {
  expect_text(code, fmt::format("{}\n", fmt::join(lines, "\n")), file, line);
}

void expect_all_texts_used() {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  if (test.result()->Passed() && !test.result()->Skipped()) {
    for (const auto& [code, text] : texts_of_test(test.file()))
      EXPECT_TRUE(used.contains(code)) << "no code gives the text of " << code;
  }
  used.clear();
}

}  // namespace tapegrad::tests
