// main of the test programs: --file=PATH runs the tests of one source file, which a program has several of. A
// --gtest_filter that only leaves tests out, "-*DeathTest.*", leaves them out of these; any other replaces --file.
#include <gtest/gtest.h>
#include <tapegrad/tests/support/texts.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace {

// gtest's filter of the tests that the file defines: "Suite.Test:Suite.Test".
std::string tests_of(std::string_view file) {
  std::string filter;
  const testing::UnitTest& unit = *testing::UnitTest::GetInstance();
  for (int i = 0; i < unit.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *unit.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const testing::TestInfo& test = *suite.GetTestInfo(j);
      if (!std::string_view(test.file()).ends_with(file)) continue;
      filter += (filter.empty() ? "" : ":") + std::string(suite.name()) + "." + test.name();
    }
  }
  return filter;
}

struct TextsAreUsed : testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo&) override { tapegrad::tests::expect_all_texts_used(); }
};

}  // namespace

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  testing::UnitTest::GetInstance()->listeners().Append(new TextsAreUsed);
  if (count > 1 && std::strncmp(arguments[1], "--file=", 7) == 0) {
    const std::string filter = tests_of(arguments[1] + 7);
    if (filter.empty()) {
      std::fprintf(stderr, "no test is in %s\n", arguments[1] + 7);
      return 2;
    }
    const std::string given = GTEST_FLAG_GET(filter);
    if (given == "*") GTEST_FLAG_SET(filter, filter);
    if (given.starts_with('-')) GTEST_FLAG_SET(filter, filter + given);
  }
  return RUN_ALL_TESTS();
}
