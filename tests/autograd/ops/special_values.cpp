// Gradients where no sample is: at ties, at powers of 0, of NaN, of rows of -inf, and where a term underflows. Each is
// computed by the kernel of backward, and by recorded operations.
#include <tapegrad/autograd/flex_attention.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

using Values = std::vector<double>;

template <class F>
void expect_gradient(const F& f, const Tensor& x, const Values& expected, double rtol = 1e-14) {
  for (const bool recorded : {false, true}) {
    SCOPED_TRACE(recorded ? "recorded" : "computed by a kernel");
    const Tensor found = slope(f, x.to(kFloat64), recorded);
    const Values dx = found.to_vector<double>();
    ASSERT_EQ(dx.size(), expected.size());
    for (std::size_t i = 0; i < dx.size(); ++i) {
      if (dx[i] == expected[i]) continue;  // infinities, too
      EXPECT_NEAR(dx[i], expected[i], rtol * std::abs(expected[i])) << "element " << i;
    }
  }
}

TEST(SpecialValues, OfASingleExample) {  // has an axis for it
  const Tensor w = linspace(-1, 1, 12, kFloat64).reshape({4, 3}).as_leaf();
  const auto of_example = [&](const auto& f) {
    Tape tape;
    return tape.backward(f(), {.per_example = true})[w].shape();
  };
  const Tensor x = ones({1, 3}, kFloat64);
  EXPECT_EQ(of_example([&] { return sum(linear(x, w), {-1}); }), (Shape{1, 4, 3}));
  EXPECT_EQ(of_example([&] { return sum(matmul(x, w.t()), {-1}); }), (Shape{1, 4, 3}));
  EXPECT_EQ(of_example([&] { return sum(embedding(w, tensor({{2, 1}}, kInt64)), {-2, -1}); }), (Shape{1, 4, 3}));
  EXPECT_EQ(of_example([&] { return sum(embedding(w, tensor({2, 1}, kInt64)), {-1}); }), (Shape{2, 4, 3}));
}

TEST(SpecialValues, CrossEntropyOfClassesWithoutProbability) {  // a whole chunk of them, which its kernel reads at once
  const int64_t chunk = 2048, classes = 2 * chunk + 3;
  for (const int64_t target : {chunk - 1, chunk, 2 * chunk}) {
    Values logits(static_cast<std::size_t>(classes), -kInf), expected(logits.size(), 0);
    logits[2 * chunk] = 0, logits[2 * chunk + 1] = std::log(3.), logits[static_cast<std::size_t>(target)] = 0;
    const double sum = target == 2 * chunk ? 4 : 5;
    expected[2 * chunk] = 1 / sum, expected[2 * chunk + 1] = 3 / sum;
    expected[static_cast<std::size_t>(target)] = 1 / sum - 1;
    expect_gradient([&](const Tensor& x) { return cross_entropy(x, tensor({target}, kInt64)); },
                    tensor(logits, {1, classes}), expected, 1e-13);
  }
}

TEST(SpecialValues, ScoresOfLaterKeysGetNoGradient) {  // whatever was in the memory before
  const Tensor q = linspace(-1, 1, 600, kFloat64).reshape({1, 1, 300, 2}), v = q + 1;
  (void)full({300, 300}, 7, kFloat64);
  const auto f = [&](const Tensor& mask) {
    return scaled_dot_product_attention(q, q, v, {.mask = mask, .causal = true}) * linspace(1, 2, 2, kFloat64);
  };
  const Tensor mask = linspace(0, 2, 90'000, kFloat64).reshape({300, 300}), kernel = slope(f, mask);
  EXPECT_TRUE(all_finite(kernel));
  EXPECT_LT(largest_difference(kernel, slope(f, mask, true)), 1e-13);
}

// Head 0 sees keys 0 and 1, of which the second has NaN, head 1 sees keys 0 and 2.
TEST(SpecialValues, HiddenNanOfOneHead) {
  const FlexAttentionOptions options{
      .mask_mod = [](auto, int64_t head, auto, int64_t key) { return key == 0 || key == 1 + head; },
      .enable_gqa = true};
  for (const int64_t heads : {1, 2}) {  // of keys
    const Tensor q = ones({1, 2, 2, 1}, kFloat64);
    const Tensor k = tensor({1., kNan, 1.}).to(kFloat64).reshape({1, 1, 3, 1}).expand({1, heads, 3, 1});
    const Tensor dv =
        slope([&](const Tensor& v) { return flex_attention(q, k, v, options); }, ones({1, heads, 3, 1}, kFloat64));
    const Values first{kNan, kNan, heads == 1 ? 1. : 0.}, second{1, 0, 1};
    expect_near(dv.select(1, 0).flatten(), first);
    if (heads == 2) expect_near(dv.select(1, 1).flatten(), second);
  }
}

// Heads of one key, of which the first has NaN among its values: [B, 1, S, D] and [B, H, S, E].
TEST(SpecialValues, HiddenNanOfOneHeadOfValues) {
  const Tensor q = ones({1, 2, 2, 1}, kFloat64);
  const Tensor mask = tensor({{true, true, false, false}, {false, false, true, true}}).reshape({1, 2, 1, 4});
  const Tensor v = tensor({{1., kNan, 1., 1.}, {1., 1., 1., 3.}}).to(kFloat64).reshape({1, 2, 4, 1});
  const auto f = [&](const Tensor& k) { return scaled_dot_product_attention(q, k, v, {.mask = mask}); };
  expect_near(slope(f, ones({1, 1, 4, 1}, kFloat64)).flatten(), Values{kNan, kNan, -1, 1});
}

// -dP / da over the density, computed with 60 digits.
TEST(SpecialValues, GammaNumbersOfALargeShape) {
  const std::vector<Values> rows{
      {250, 240, 0.980381239389207264},   {250, 250, 1.00066693272289894},   {300, 330, 1.04899445546777731},
      {1000, 990, 0.995149095969887596},  {4000, 4060, 1.00750475710647992}, {1e5, 99800, 0.999000997666194252},
      {1e5, 100150, 1.00075129319858351},
  };
  for (const Values& row : rows) {
    const auto f = [&](const Tensor& a) { return implicit_gamma(a, scalar(row[1], kFloat64)); };
    EXPECT_NEAR(slope(f, scalar(row[0], kFloat64)).item() / row[2], 1, 1e-13) << row[0] << ", " << row[1];
  }
}

}  // namespace
}  // namespace tapegrad::tests
