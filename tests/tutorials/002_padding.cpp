// Tutorial 002, cells 2 and 3: shapes of every step for batch 4 and the three test cases, padding, and values against
// PyTorch's.
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tutorials/programs/padded_attention.h>

namespace tapegrad {
namespace {

using namespace tests;
using json = Json;

constexpr int64_t kModel = 64, kHeads = 4;

// bool [B, S, 1]: the last `count` tokens of each sequence are padding.
Tensor last_are_padding(int64_t batch, int64_t length, int64_t count) {
  return (arange(length) >= static_cast<double>(length - count)).reshape({1, length, 1}).expand({batch, length, 1});
}

std::string shapes(const NamedTensors& steps) {
  std::string text;
  for (const NamedTensor& step : steps) text += step.name + " " + str(step.tensor.shape()) + "\n";
  return text;
}

// Every step by name, of a batch of this size; the shapes that the tutorial prints are on its pages.
void expect_shapes(int64_t batch, int64_t length, int64_t width) {
  const tasks::tutorial002::MultiHeadAttention attention(width, kModel, kHeads);
  NamedTensors steps;
  attention(randn({batch, length, width}), last_are_padding(batch, length, length / 3), &steps);
  EXPECT_EQ(shapes(steps), fmt::format("x [{0}, {1}, {2}]\nq [{0}, {1}, 64]\nk [{0}, {1}, 64]\nv [{0}, {1}, 64]\n"
                                       "q by head [{0}, 4, {1}, 16]\nk by head [{0}, 4, {1}, 16]\n"
                                       "v by head [{0}, 4, {1}, 16]\nscore [{0}, 4, {1}, {1}]\n"
                                       "scaled score [{0}, 4, {1}, {1}]\nmask [{0}, {1}, 1]\n"
                                       "masked score [{0}, 4, {1}, {1}]\nweights [{0}, 4, {1}, {1}]\n"
                                       "mixed [{0}, 4, {1}, 16]\nmerged [{0}, {1}, 64]\noutput [{0}, {1}, 64]\n",
                                       batch, length, width));
}

TEST(Tutorial002_2, ShapesOfEveryStep) { expect_shapes(4, 10, 32); }

TEST(Tutorial002_3, ShapesOfTheThreeTestCases) {
  expect_shapes(2, 5, 32);
  expect_shapes(8, 20, 64);
  expect_shapes(1, 100, 32);
}

// The tutorial's mask is true for padding, nn's for tokens that may be attended to.
TEST(Tutorial002_2, PaddingMaskOfTheFirstSequence) {
  const Tensor sequences = tensor({{3, 1, 4, 1, 5, 9, 2, 6, 0, 0},
                                   {5, 3, 5, 8, 9, 7, 9, 3, 2, 0},
                                   {3, 8, 4, 6, 2, 6, 0, 0, 0, 0},
                                   {4, 3, 3, 8, 3, 2, 7, 9, 5, 2}});
  const Tensor padding = !nn::padding_mask(sequences);
  EXPECT_EQ(padding.shape(), (Shape{4, 1, 1, 10}));
  EXPECT_TEXT(str(padding[0].squeeze()));
  for (const auto& [sequence, count] : {std::pair(0, 2), std::pair(1, 1), std::pair(2, 4), std::pair(3, 0)}) {
    EXPECT_TRUE(all(padding[sequence].squeeze() == last_are_padding(1, 10, count).squeeze())) << sequence;
  }
}

// tests/data/tutorials.json, written by make_tutorials.py: the first test case with seed 0 and padding of one and of
// two words, once with masked keys and scores over sqrt(head_dim), once as in the tutorial's code.
struct Golden {
  json data = stored("tutorials.json")["tutorial002"];
  Tensor x = seeded_input();
  tasks::tutorial002::MultiHeadAttention attention{32, kModel, kHeads};  // draws after x
  Tensor padding = cat({last_are_padding(1, 5, 1), last_are_padding(1, 5, 2)});

  static Tensor seeded_input() {
    manual_seed(0);
    return randn({2, 5, 32});
  }
  std::vector<double> values(const char* name) const { return data[name].get<std::vector<double>>(); }
};

TEST(Tutorial002_3, EqualsPyTorch) {
  const Golden g;
  expect_near(g.attention(g.x, g.padding), g.values("keys_hidden"));
}

TEST(Tutorial002_3, TheModuleAndTheMaskOfNnAreTheSame) {
  const Golden g;
  nn::MultiHeadSelfAttention ready(
      {.d_in = 32, .d_out = kModel, .num_heads = kHeads, .qkv_bias = true, .causal = false});
  const auto copy = [](nn::Linear& to, const nn::Linear& from) {
    to.weight.set(from.weight);
    to.bias.set(from.bias);
  };
  copy(ready.query, g.attention.wq);
  copy(*ready.key, g.attention.wk);
  copy(ready.value, g.attention.wv);
  copy(ready.output, g.attention.dense);
  const Tensor mask = nn::padding_mask(tensor({{1, 2, 3, 4, 0}, {1, 2, 3, 0, 0}}));
  expect_near(ready(g.x, mask), g.values("keys_hidden"));
}

// The tutorial's arithmetic masks no key: rows of padding become uniform, all others attend to the padding.
TEST(Tutorial002_3, WhatTheTutorialsMaskDoes) {
  const Golden g;
  const auto heads = [&](const nn::Linear& project) {
    return project(g.x).reshape({2, 5, kHeads, kModel / kHeads}).transpose(1, 2);
  };
  const Tensor rows = g.padding.to(kFloat32).unsqueeze(1) * -1e9;  // [B, 1, S, 1]
  const Tensor score = matmul(heads(g.attention.wq), heads(g.attention.wk).t()) / std::sqrt(1.0 * kModel) + rows;
  const Tensor weights = softmax(score);
  const Tensor merged = matmul(weights, heads(g.attention.wv)).transpose(1, 2).reshape({2, 5, kModel});
  expect_near(g.attention.dense(merged), g.values("as_in_the_tutorial"));
  const Tensor to_padding = weights[0].select(2, 4);  // [heads, S]: the weight of each query on the padded last word
  EXPECT_GT(amin(to_padding).item(), 0.1);
  for (const float share : weights[0].select(1, 4).to_vector<float>()) EXPECT_EQ(share, 0.2F);
}

// pad_length 0 in the tutorial's test makes `mask[i, -0:]` mask the whole sequence. The result is zeros, not NaN.
TEST(Tutorial002_2, ASequenceOfPaddingOnly) {
  const Golden g;
  NamedTensors steps;
  const Tensor output = g.attention(g.x, last_are_padding(2, 5, 5), &steps);
  for (const NamedTensor& step : steps) {
    if (step.name == "weights" || step.name == "mixed") {
      EXPECT_EQ(amax(abs(step.tensor)).item(), 0) << step.name;
    }
  }
  expect_near(output, g.attention.dense.bias.tensor().expand({2, 5, kModel}));
}

}  // namespace
}  // namespace tapegrad
