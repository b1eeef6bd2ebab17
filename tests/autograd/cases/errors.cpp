// The errors of tensors, word for word; those of operations: error_texts/FAMILY.txt has a line with a call
// (tests/support/call_text.h), and below it, with two spaces before it, the text.
#include <tapegrad/tests/support/call_text.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

const Tensor kMatrix = zeros({2, 3});

TEST(Errors, AreOneLine) {
  EXPECT_TEXT(error_text("config.json", "got \"a\nb\tc\r\x1b[1m\x7f\""));
  EXPECT_EQ(error_text("a\x1b[2J/config.json", "x"), "[a\\x1b[2J/config.json] x");
  EXPECT_EQ(printable("a\n\tb\r\x1b", "\n\t"), "a\n\tb\\r\\x1b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "1m \xc2\xa0 하늘 \x9b"),
            "\\x9b1m \xc2\xa0 하늘 \x9b");  // U+009B begins a sequence, too
  for (const auto& [text, shown] : {std::pair("a\u202Ab", "a\\u202ab"),
                                    {"\u202e", "\\u202e"},
                                    {"\u2066", "\\u2066"},
                                    {"x\u2069", "x\\u2069"},
                                    {"\u2029\u202f\u2065\u206a", "\u2029\u202f\u2065\u206a"},
                                    {"\xe2\x80", "\xe2\x80"},
                                    {"\xe2\x81\xa9", "\\u2069"}})
    EXPECT_EQ(printable(text), shown);
  EXPECT_EQ(error_text("a\u202ecod.exe", "x"), "[a\\u202ecod.exe] x");
  EXPECT_EQ(error_of([] { fail("here", "one\ntwo"); }), "[here] one\\ntwo");
}

TEST(Errors, OfTensors) {
  EXPECT_ERROR(Tensor().shape());
  EXPECT_ERROR(kMatrix.item());
  EXPECT_ERROR(kMatrix.data<double>());
  EXPECT_ERROR(kMatrix.to_vector<double>());
  EXPECT_ERROR(kMatrix.to_vector<bool>());
  EXPECT_ERROR(kMatrix.slice(0, 0, 0).to_vector<int64_t>());
  EXPECT_ERROR(kMatrix.size(2));
  EXPECT_ERROR(zeros({1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_ERROR(tensor(std::vector<double>{1, 2, 3}, {2, 2}));
  EXPECT_ERROR(tensor({{1.0, 2.0}, {3.0}}));
}

TEST(Errors, OfANormOfNan) {
  EXPECT_EQ(error_of([] { norm(kMatrix, kNan); }), "[norm] expected a p other than NaN");
}

TEST(Errors, OfCalls) {
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(kTestsDir) + "/autograd/cases/error_texts")) {
    const auto calls = pairs_of_lines("autograd/cases/error_texts/" + entry.path().filename().string());
    EXPECT_GT(calls.size(), 5U) << entry.path();
    for (const auto& [call, text] : calls) EXPECT_EQ(error_of([&, &line = call] { called(line); }), text) << call;
  }
}

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
