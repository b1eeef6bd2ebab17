// Tutorial 003, sections 8.2.1 to 8.2.5: attention over word vectors, and the two masks, beyond the printed numbers.
#include <tapegrad/tests/support/printed.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tutorials/programs/given.h>
#include <tapegrad/tutorials/programs/roles.h>

namespace tapegrad {
namespace {

using tests::expect_prints;
namespace given = tasks::given;

// tests/data/tutorials.json, written by make_tutorials.py: the section's unseeded code with seed 0 in PyTorch.
TEST(Tutorial003_8_2_3, ProjectionsForTheRolesOfAWord) {
  const auto golden = tests::stored("tutorials.json")["tutorial003_roles"];
  const Tensor x = given::time_flies();
  EXPECT_EQ(str(tasks::basic_self_attention(x)), str(matmul(softmax(matmul(x, x.t())), x)));
  manual_seed(0);
  const Tensor similarity = rand({3, 3}, kFloat64), content = rand({3, 3}, kFloat64);
  const auto expected = golden["improved"].get<std::vector<double>>();
  const auto improved = tasks::improved_self_attention(x, similarity, content).to_vector<double>();
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(improved[i], expected[i], 1e-13);
  const tasks::SelfAttention attention(3);
  tests::expect_near(attention(x.to(kFloat32)), golden["query_key_value"].get<std::vector<double>>());
}

// The section's masked_attention, with these scores as queries and unit vectors as keys and values.
TEST(Tutorial003_8_2_5, MaskedAttention) {
  const Tensor mask = masked_fill(ones({4, 4}), !nn::causal_mask(4), -INFINITY);
  const Tensor weights = softmax(masked_fill(given::scores(), !nn::causal_mask(4), -INFINITY));
  EXPECT_LT(amax(abs(tasks::masked_attention(given::scores(), eye(4), eye(4), mask) - weights)).item(), 1e-6);
}

// The display shows the first sentence, which has no padding. In the second one no query attends to the last key.
TEST(Tutorial003_8_2_5, PaddingMaskOfTheSecondSentence) {
  const Tensor ids = tensor({{1, 2, 3, 4}, {1, 2, 3, 0}, {4, 3, 2, 1}, {2, 3, 4, 1}});
  const Tensor mask = nn::padding_mask(ids);
  EXPECT_EQ(mask.shape(), (Shape{4, 1, 1, 4}));  // batch, heads, queries, keys
  const Tensor second = softmax(masked_fill(given::scores(), !mask[1].reshape({1, 4}), -INFINITY));
  for (const float weight : second.select(1, 3).to_vector<float>()) EXPECT_EQ(weight, 0);
  expect_prints(sum(second, -1), "{:.4f}", "1.0000 1.0000 1.0000 1.0000");
}

}  // namespace
}  // namespace tapegrad
