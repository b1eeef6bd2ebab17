// The errors of operations, word for word: error_texts/FAMILY.txt has a line with a call (tests/support/call_text.h),
// and below it, with two spaces before it, the text.
#include <tapegrad/tests/support/call_text.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

const std::string kErrorTexts = std::string(kTestsDir) + "/autograd/cases/error_texts/";

std::vector<std::string> error_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kErrorTexts)) names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

class ErrorTexts : public testing::TestWithParam<std::string> {};

TEST_P(ErrorTexts, OfCalls) {
  const auto calls = pairs_of_lines("autograd/cases/error_texts/" + GetParam() + ".txt");
  EXPECT_GT(calls.size(), 5U);
  for (const auto& [call, text] : calls) EXPECT_EQ(error_of([&, &line = call] { called(line); }), text) << call;
}

INSTANTIATE_TEST_SUITE_P(Families, ErrorTexts, testing::ValuesIn(error_files()),
                         [](const auto& family) { return family.param; });

// An error in a file must not pass because its call is read wrongly.
TEST(CallText, IsReadAsWritten) {
  EXPECT_EQ(arguments_in("int64 [2, 3], [[1, 2]], axis: 0, mode: \"a, b\""),
            (std::vector<std::string>{"int64 [2, 3]", "[[1, 2]]", "axis: 0", "mode: \"a, b\""}));
  EXPECT_TRUE(same_bits(operand_of("[[0, 5], [1, 2]]"), tensor({{0, 5}, {1, 2}})));
  EXPECT_TRUE(same_bits(operand_of("[true, false]"), tensor({true, false})));
  EXPECT_TRUE(same_bits(operand_of("[0, 0.5]"), tensor({0, 0.5})));
  EXPECT_TRUE(same_bits(operand_of("1.0"), scalar(1)));
  EXPECT_TRUE(same_bits(operand_of("float64 [2]"), zeros({2}, kFloat64)));
  EXPECT_EQ(error_of([] { called("flip(float32 [2, 3], axes: 1)"); }), "no error");
}

}  // namespace
}  // namespace tapegrad::tests
