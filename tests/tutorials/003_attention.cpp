// Tutorial 003, sections 8.2.1 to 8.2.5: attention over word vectors, and the two masks, with every printed number.
#include <gtest/gtest.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tests/support/near.h>
#include <tapegrad/tests/support/printed.h>
#include <tapegrad/tests/support/stored.h>
#include <tapegrad/tutorials/programs/roles.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace tapegrad {
namespace {

using tests::expect_prints;

// Vectors of three numbers for time, flies, like, an, arrow; the tutorial computes these sections in float64.
Tensor words() {
  return tensor({{0.2, 0.8, 0.3}, {0.7, 0.2, 0.9}, {0.3, 0.5, 0.2}, {0.1, 0.3, 0.4}, {0.8, 0.1, 0.6}}, kFloat64);
}

TEST(Tutorial003_8_2_1, Similarity) {
  const Tensor x = words();
  EXPECT_EQ(x.shape(), (Shape{5, 3}));
  expect_prints(x, "{:.1f}", "0.2 0.8 0.3  0.7 0.2 0.9  0.3 0.5 0.2  0.1 0.3 0.4  0.8 0.1 0.6");
  expect_prints(x.t(), "{:.1f}", "0.2 0.7 0.3 0.1 0.8  0.8 0.2 0.5 0.3 0.1  0.3 0.9 0.2 0.4 0.6");
  const Tensor similarity = matmul(x, x.t());
  EXPECT_EQ(similarity.shape(), (Shape{5, 5}));
  expect_prints(similarity, "{:.2f}", R"(
      0.77 0.57 0.52 0.38 0.42
      0.57 1.34 0.49 0.49 1.12
      0.52 0.49 0.38 0.26 0.41
      0.38 0.49 0.26 0.26 0.35
      0.42 1.12 0.41 0.35 1.01)");
}

TEST(Tutorial003_8_2_2, WeightsAndContextualVectors) {
  const Tensor x = words();
  const Tensor weights = softmax(matmul(x, x.t()));
  EXPECT_EQ(weights.shape(), (Shape{5, 5}));
  expect_prints(weights, "{:.8f}", R"(
      0.25130196 0.20574865 0.19571417 0.17014572 0.17708950
      0.14838442 0.32047566 0.13697608 0.13697608 0.25718775
      0.22189237 0.21533446 0.19290396 0.17109046 0.19877876
      0.20573742 0.22966017 0.18247272 0.18247272 0.19965696
      0.14836389 0.29876818 0.14688764 0.13833357 0.26764673)");
  const Tensor contextual = matmul(weights, x);
  EXPECT_EQ(contextual.shape(), (Shape{5, 3}));
  expect_prints(contextual, "{:.8f}", R"(
      0.41168487 0.40880105 0.47401919
      0.51455048 0.31810231 0.56944172
      0.42911583 0.38823778 0.48665295
      0.43462426 0.37646585 0.49769319
      0.51082753 0.32015331 0.55869952)");
  // The same in one call: query, key and value are the words themselves, unscaled.
  const Tensor fused = scaled_dot_product_attention(x, x, x, {.scale = 1.0});
  EXPECT_LT(amax(abs(fused - contextual)).item(), 1e-15);
}

// tests/data/tutorials.json, written by make_tutorials.py: the section's unseeded code with seed 0 in PyTorch.
TEST(Tutorial003_8_2_3, ProjectionsForTheRolesOfAWord) {
  const auto golden = tests::stored("tutorials.json")["tutorial003_roles"];
  const Tensor x = words();
  EXPECT_EQ(str(tasks::basic_self_attention(x)), str(matmul(softmax(matmul(x, x.t())), x)));
  manual_seed(0);
  const Tensor similarity = rand({3, 3}, kFloat64), content = rand({3, 3}, kFloat64);
  const auto expected = golden["improved"].get<std::vector<double>>();
  const auto improved = tasks::improved_self_attention(x, similarity, content).to_vector<double>();
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(improved[i], expected[i], 1e-13);
  const tasks::SelfAttention attention(3);
  tests::expect_near(attention(x.to(kFloat32)), golden["query_key_value"].get<std::vector<double>>());
}

// Scores of "I love deep learning": rows are queries, columns are keys.
Tensor scores() {
  return tensor({{0.9, 0.7, 0.3, 0.2}, {0.6, 0.8, 0.9, 0.4}, {0.2, 0.5, 0.7, 0.9}, {0.4, 0.3, 0.8, 0.6}});
}

constexpr char kScores[] = "0.90 0.70 0.30 0.20  0.60 0.80 0.90 0.40  0.20 0.50 0.70 0.90  0.40 0.30 0.80 0.60";

TEST(Tutorial003_8_2_5, CausalMaskInFiveStages) {
  expect_prints(scores(), "{:.2f}", kScores);
  const Tensor allowed = tril(ones({4, 4}));
  expect_prints(allowed, "{:.2f}",
                "1.00 0.00 0.00 0.00  1.00 1.00 0.00 0.00  1.00 1.00 1.00 0.00  1.00 1.00 1.00 1.00");
  const Tensor mask = masked_fill(allowed, allowed == 0, -INFINITY);
  expect_prints(mask, "{:.1e}", R"(
      1.0e+00 -inf    -inf    -inf
      1.0e+00 1.0e+00 -inf    -inf
      1.0e+00 1.0e+00 1.0e+00 -inf
      1.0e+00 1.0e+00 1.0e+00 1.0e+00)");
  // The display adds the mask, and so adds 1 to allowed scores.
  const Tensor masked = scores() + mask;
  expect_prints(masked, "{:.1f}", "1.9 -inf -inf -inf  1.6 1.8 -inf -inf  1.2 1.5 1.7 -inf  1.4 1.3 1.8 1.6");
  constexpr char kWeights[] = R"(
      1.00 0.00 0.00 0.00
      0.45 0.55 0.00 0.00
      0.25 0.34 0.41 0.00
      0.22 0.20 0.32 0.26)";
  expect_prints(softmax(masked), "{:.2f}", kWeights);
  // Softmax is unchanged by a constant: a boolean causal mask gives the same weights.
  expect_prints(softmax(masked_fill(scores(), !nn::causal_mask(4), -INFINITY)), "{:.2f}", kWeights);
  // The section's masked_attention, with these scores as queries and unit vectors as keys and values.
  expect_prints(tasks::masked_attention(scores(), eye(4), eye(4), mask), "{:.2f}", kWeights);
}

TEST(Tutorial003_8_2_5, PaddingMaskInFiveStages) {
  // Four sentences; the second one ends in a padding token.
  const Tensor ids = tensor({{1, 2, 3, 4}, {1, 2, 3, 0}, {4, 3, 2, 1}, {2, 3, 4, 1}});
  const Tensor mask = nn::padding_mask(ids);
  EXPECT_EQ(mask.shape(), (Shape{4, 1, 1, 4}));  // batch, heads, queries, keys
  EXPECT_EQ(str(mask.reshape({4, 1, 4}).to(kFloat32)),
            "tensor([[[1., 1., 1., 1.]],\n\n"
            "        [[1., 1., 1., 0.]],\n\n"
            "        [[1., 1., 1., 1.]],\n\n"
            "        [[1., 1., 1., 1.]]])");
  expect_prints(scores(), "{:.2f}", kScores);
  const auto masked = [&](int64_t sentence) {
    return masked_fill(scores(), !mask[sentence].reshape({1, 4}), -INFINITY);
  };
  expect_prints(masked(0), "{:.1e}", R"(
      9.0e-01 7.0e-01 3.0e-01 2.0e-01
      6.0e-01 8.0e-01 9.0e-01 4.0e-01
      2.0e-01 5.0e-01 7.0e-01 9.0e-01
      4.0e-01 3.0e-01 8.0e-01 6.0e-01)");
  expect_prints(softmax(masked(0)), "{:.2f}", R"(
      0.35 0.29 0.19 0.17
      0.23 0.28 0.31 0.19
      0.17 0.22 0.27 0.33
      0.22 0.20 0.32 0.26)");
  // The display shows the first sentence, which has no padding. In the second one no query attends to the last key.
  const Tensor second = softmax(masked(1));
  for (const float weight : second.select(1, 3).to_vector<float>()) EXPECT_EQ(weight, 0);
  expect_prints(sum(second, -1), "{:.4f}", "1.0000 1.0000 1.0000 1.0000");
}

}  // namespace
}  // namespace tapegrad
