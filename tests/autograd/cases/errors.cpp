// The errors of tensors and of operands with NaN, word for word; those of operations: error_texts.cpp.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

const Tensor kMatrix = zeros({2, 3});

TEST(Errors, AreOneLine) {
  EXPECT_EQ(error_text("config.json", "got \"a\nb\tc\r\x1b[1m\x7f\""),
            "[config.json] got \"a\\nb\\tc\\r\\x1b[1m\\x7f\"");
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
  // clang-format off
  expect_texts({
      {"[tensor] an empty handle was used (it was never given a value, or was moved from)", [] { Tensor().shape(); }},
      {"[item] expected one element, got shape [2, 3] with 6", [] { kMatrix.item(); }},
      {"[data] expected a tensor of float64, got float32 (convert with to())", [] { kMatrix.data<double>(); }},
      {"[to_vector] expected a tensor of float64, got float32 (convert with to())",
       [] { kMatrix.to_vector<double>(); }},
      {"[to_vector] expected a tensor of bool, got float32 (convert with to())", [] { kMatrix.to_vector<bool>(); }},
      {"[to_vector] expected a tensor of int64, got float32 (convert with to())",
       [] { kMatrix.slice(0, 0, 0).to_vector<int64_t>(); }},
      {"[size] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { kMatrix.size(2); }},
      {"[shape] expected at most 8 axes, got 9", [] { return zeros({1, 1, 1, 1, 1, 1, 1, 1, 1}); }},
      {"[tensor] expected 4 values for shape [2, 2], got 3",
       [] { return tensor(std::vector<double>{1, 2, 3}, {2, 2}); }},
      {"[tensor] expected rows of equal length, got 2 and 1 values", [] { return tensor({{1.0, 2.0}, {3.0}}); }},
  });
  // clang-format on
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
  EXPECT_EQ(error_of([] {
              binary_cross_entropy(tensor({0., kNan}), zeros({2}));
            }),
            "[binary_cross_entropy] expected probabilities between 0 and 1, got nan at [1]");
}

}  // namespace
}  // namespace tapegrad::tests
