// Self-attention from one width to another: its formula, its masks, its errors.
#include <gtest/gtest.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/nn/self_attention.h>
#include <tapegrad/tests/support/near.h>

#include <cmath>

namespace tapegrad {
namespace {

using tests::error_of;
using tests::expect_near;

TEST(SelfAttention, EqualsItsFormula) {
  manual_seed(5);
  const nn::MultiHeadSelfAttention attention({.d_in = 5, .d_out = 6, .num_heads = 3, .qkv_bias = true});
  const Tensor x = randn({2, 4, 5});
  const auto heads = [&](const nn::Linear& project) { return project(x).reshape({2, 4, 3, 2}).transpose(1, 2); };
  const Tensor scores = matmul(heads(attention.W_query), heads(attention.W_key).t()) / std::sqrt(2.0);
  const Tensor weights = softmax(masked_fill(scores, !nn::causal_mask(4), -INFINITY));
  const Tensor mixed = matmul(weights, heads(attention.W_value)).transpose(1, 2).reshape({2, 4, 6});
  expect_near(attention(x), attention.out_proj(mixed));
  Tensor seen;
  expect_near(attention(x, {.weights = &seen}), attention.out_proj(mixed));
  expect_near(seen, weights);
}

TEST(SelfAttention, AMaskIsAddedToTheCausalMask) {
  manual_seed(6);
  const nn::MultiHeadSelfAttention attention({.d_in = 3, .d_out = 4, .num_heads = 2});
  const Tensor x = randn({2, 4, 3});
  const Tensor mask = nn::padding_mask(tensor({{7, 7, 7, 7}, {0, 7, 7, 0}}));
  Tensor weights;
  attention(x, {.mask = mask, .weights = &weights});
  EXPECT_EQ(amax(weights * (!mask).to(kFloat32)).item(), 0);
  EXPECT_EQ(amax(triu(weights, 1)).item(), 0);
  expect_near(sum(weights[0], -1), std::vector<double>(8, 1));
  EXPECT_EQ(amax(weights[1].select(1, 0)).item(), 0);  // the first word is fully masked: no NaN
}

TEST(SelfAttention, CachedEqualsUncachedWithAMask) {
  manual_seed(8);
  nn::MultiHeadSelfAttention attention({.d_in = 3, .d_out = 4, .num_heads = 2, .context_length = 5});
  nn::to(attention, kFloat64);
  const Tensor x = randn({2, 5, 3}).to(kFloat64);
  const Tensor padding = nn::padding_mask(tensor({{7, 0, 7, 7, 7}, {7, 7, 7, 0, 7}}));
  const Tensor added = where(padding, zeros({1}, kFloat64), -2.5);
  for (const Tensor& mask : {Tensor(), padding, added}) {
    const Tensor whole = attention(x, mask);
    nn::KVCache cache;
    for (const auto& [start, length] : {std::pair{0, 2}, {2, 2}, {4, 1}}) {
      const Tensor seen = mask.defined() ? narrow(mask, -1, 0, start + length) : mask;
      const Tensor y = attention(narrow(x, 1, start, length), {.mask = seen, .cache = &cache});
      cache.advance(length);
      EXPECT_LE(amax(abs(y - narrow(whole, 1, start, length))).item(), 1e-12);
    }
    EXPECT_EQ(error_of([&] { attention(narrow(x, 1, 0, 1), {.cache = &cache}); }),
              "[multi_head_self_attention] a sequence of length 6 is longer than context_length 5");
  }
}

TEST(SelfAttention, NamesAndShapes) {
  nn::MultiHeadSelfAttention attention({.d_in = 3, .d_out = 4, .num_heads = 2});
  std::string names;
  for (const auto& [name, parameter] : nn::named_parameters(attention)) names += name + str(parameter->shape()) + " ";
  EXPECT_EQ(names,
            "W_query.weight[4, 3] W_key.weight[4, 3] W_value.weight[4, 3] out_proj.weight[4, 4] out_proj.bias[4] ");
}

TEST(SelfAttention, DropoutIsSwitchedOffInEvaluation) {
  manual_seed(7);
  nn::MultiHeadSelfAttention attention({.d_in = 3, .d_out = 4, .num_heads = 2, .dropout = 0.5});
  const Tensor x = randn({1, 5, 3});
  EXPECT_NE(attention(x).to_vector<float>(), attention(x).to_vector<float>());
  nn::eval(attention);
  EXPECT_EQ(attention(x).to_vector<float>(), attention(x).to_vector<float>());
}

TEST(SelfAttention, Errors) {
  const auto with = [](auto change) {
    nn::SelfAttentionConfig config{.d_in = 3, .d_out = 4, .num_heads = 2, .context_length = 5};
    change(config);
    return error_of([&] {
      const nn::MultiHeadSelfAttention attention(config);
      attention(ones({1, 6, 3}));
    });
  };
  using Config = nn::SelfAttentionConfig;
  EXPECT_EQ(with([](Config& c) { c.d_out = 5; }),
            "[multi_head_self_attention] d_out 5 is not divisible by num_heads 2 (each head takes an equal share)");
  EXPECT_EQ(with([](Config& c) { c.num_heads = 0; }), "[multi_head_self_attention] num_heads must be positive, got 0");
  EXPECT_EQ(with([](Config& c) { c.d_in = -1; }), "[multi_head_self_attention] d_in must be positive, got -1");
  EXPECT_EQ(with([](Config& c) { c.dropout = 2; }),
            "[multi_head_self_attention] dropout must be between 0 and 1, got 2");
  EXPECT_EQ(with([](Config& c) { c.context_length = -5; }),
            "[multi_head_self_attention] context_length must be positive, or 0 for any length, got -5");
  EXPECT_EQ(with([](Config&) {}), "[multi_head_self_attention] a sequence of length 6 is longer than context_length 5");
  EXPECT_EQ(with([](Config& c) { c.d_in = 4; }), "[multi_head_self_attention] expected x [B, T, 4], got [1, 6, 3]");
}

}  // namespace
}  // namespace tapegrad
