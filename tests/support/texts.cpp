// Reads the files of texts, once each.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tapegrad/test_paths.h>
#include <tapegrad/tests/support/patterns.h>
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

void expect_text(const char* code, const std::string& given, const char* file, int line) {
  static const Pattern kFolder(std::filesystem::temp_directory_path().string() + "/tapegrad-test-\\w{6}");
  static const Pattern kTests(kTestsDir);
  const std::string text = kTests.replaced(kFolder.replaced(given, "{folder}"), "{tests}");
  const Texts& texts = texts_of_test(file);
  const auto found = texts.find(without_spaces(code));
  if (found == texts.end()) {
    ADD_FAILURE_AT(file, line) << "no text of " << code << ", which gives\n  " << text;
    return;
  }
  const std::string& expected = found->second[std::min(used[found->first]++, found->second.size() - 1)];
  if (expected != text) ADD_FAILURE_AT(file, line) << code << " gives\n  " << text << "\nexpected\n  " << expected;
}

void expect_text(const char* code, const std::vector<std::string>& lines, const char* file, int line) {
  expect_text(code, fmt::format("{}\n", fmt::join(lines, "\n")), file, line);
}

void expect_error_text(const char* code, FunctionRef call, const char* file, int line) {
  expect_text(code, error_of(call), file, line);
}

void expect_all_texts_used() {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  if (test.result()->Passed() && !test.result()->Skipped()) {
    for (const auto& [code, all] : texts_of_test(test.file()))
      EXPECT_GE(used[code], all.size()) << "no code gives a text of " << code;
  }
  used.clear();
}

// --- patterns.h ---

struct Pattern::Compiled {
  std::regex regex;
};

namespace {

Match match_of(const std::cmatch& found) {
  Match match;
  if (!found.empty()) match.position = static_cast<std::size_t>(found.position());
  for (const auto& group : found) match.push_back(group.str());
  return match;
}

}  // namespace

Pattern::Pattern(std::string_view pattern)
    : compiled_(std::make_shared<Compiled>(Compiled{std::regex(pattern.begin(), pattern.end())})) {}

std::vector<Match> Pattern::in(std::string_view text) const {
  std::vector<Match> all;
  for (std::cregex_iterator at(text.begin(), text.end(), compiled_->regex), end; at != end; ++at)
    all.push_back(match_of(*at));
  return all;
}

Match Pattern::first(std::string_view text) const {
  std::cmatch found;
  std::regex_search(text.begin(), text.end(), found, compiled_->regex);
  return match_of(found);
}

Match Pattern::whole(std::string_view text) const {
  std::cmatch found;
  std::regex_match(text.begin(), text.end(), found, compiled_->regex);
  return match_of(found);
}

std::vector<std::string> Pattern::divided(std::string_view text) const {
  using Pieces = std::cregex_token_iterator;
  return {Pieces(text.begin(), text.end(), compiled_->regex, -1), Pieces()};
}

std::string Pattern::replaced(std::string_view text, std::string_view with) const {
  std::string out;
  std::regex_replace(std::back_inserter(out), text.begin(), text.end(), compiled_->regex, std::string(with));
  return out;
}

}  // namespace tapegrad::tests
