// The errors of tensors and of operands with NaN, word for word; those of operations: error_texts.cpp.
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

// JSON, and so error_texts/, has no NaN.
TEST(Errors, OfNan) {
  const Tensor x = full({2, 2}, kNan);
  const std::string diverges =
      "expected a matrix for which the algorithm converges, got one with NaN or infinity, or with too many equal or "
      "nearly equal values";
  EXPECT_EQ(error_of([=] { eigh(x); }), "[eigh] " + diverges);
  EXPECT_EQ(error_of([=] { eigvalsh(x); }), "[eigvalsh] " + diverges);
  EXPECT_EQ(error_of([=] { svd(cat({x, x})); }), "[svd] " + diverges);
  EXPECT_EQ(error_of([=] { svdvals(x); }), "[svdvals] " + diverges);
  EXPECT_EQ(error_of([=] { norm(x, kNan); }), "[norm] expected a p other than NaN");
  EXPECT_EQ(error_of([=] { histogram(x, 2); }), "[histogram] expected a finite range, got nan to nan");
  EXPECT_ERROR(binary_cross_entropy(tensor({0., kNan}), zeros({2})));
}

}  // namespace
}  // namespace tapegrad::tests
