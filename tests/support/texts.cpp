// Reads the files of texts, once each.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tapegrad/test_paths.h>
#include <tapegrad/tests/support/texts.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>

namespace tapegrad::tests {
namespace {

using Texts = std::map<std::string, std::vector<std::string>>;  // by code without spaces

std::map<std::string, std::size_t> used;  // by the test that runs, so many times

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
        std::string& text = at->second[test][code].back();
        const bool begins = text.empty();
        if (!begins && !text.ends_with('\n')) text += '\n';
        text += line.substr(2) + (begins ? "" : "\n");
      } else {
        code = without_spaces(line);
        if (!code.empty()) at->second[test][code].emplace_back();
      }
    }
  }
  return at->second[running_test()];
}

}  // namespace

void expect_text(const std::string& code, const std::string& given, const char* file, int line) {
  static const std::regex kFolder(std::filesystem::temp_directory_path().string() + "/tapegrad-test-\\w{6}");
  static const std::regex kTests(kTestsDir);
  const std::string text = std::regex_replace(std::regex_replace(given, kFolder, "{folder}"), kTests, "{tests}");
  const Texts& texts = texts_of_test(file);
  const auto found = texts.find(without_spaces(code));
  if (found == texts.end()) {
    ADD_FAILURE_AT(file, line) << "no text of " << code << ", which gives\n  " << text;
    return;
  }
  const std::string& expected = found->second[std::min(used[found->first]++, found->second.size() - 1)];
  if (expected != text) ADD_FAILURE_AT(file, line) << code << " gives\n  " << text << "\nexpected\n  " << expected;
}

void expect_text(const std::string& code, const std::vector<std::string>& lines, const char* file, int line) {
  expect_text(code, fmt::format("{}\n", fmt::join(lines, "\n")), file, line);
}

void expect_all_texts_used() {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  if (test.result()->Passed() && !test.result()->Skipped()) {
    for (const auto& [code, all] : texts_of_test(test.file()))
      EXPECT_GE(used[code], all.size()) << "no code gives a text of " << code;
  }
  used.clear();
}

}  // namespace tapegrad::tests
