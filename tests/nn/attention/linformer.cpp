// Linformer: where it equals full attention, how far it is from it otherwise, masks, caches, errors.
#include <tapegrad/tests/support/long_inputs.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using namespace tests;

TEST(Linformer, WithTheIdentityAsProjectionEqualsFullAttention) {
  manual_seed(1);
  const Tensor q = leaf({2, 3, 5, 4}), k = leaf({2, 3, 7, 4}), v = leaf({2, 3, 7, 6}),
               dy = randn({2, 3, 5, 6}, kFloat64);
  const Tensor shared = eye(7, kFloat64), per_head = shared.expand({3, 7, 7}), longer = eye(9, kFloat64).slice(0, 0, 7);
  for (const Tensor& identity : {shared, per_head, longer}) {
    Tape tape;
    const Tensor y = nn::linformer_attention(q, k, v, identity, identity);
    const Gradients ours = tape.backward(y, {.grad_output = dy});
    Tape second;
    const Tensor full = scaled_dot_product_attention(q, k, v);
    const Gradients theirs = second.backward(full, {.grad_output = dy});
    EXPECT_LE(largest_difference(y, full), 1e-14);
    for (const Tensor& x : {q, k, v}) EXPECT_LE(largest_difference(ours[x], theirs[x]), 1e-14);
  }
}

TEST(Linformer, MaskedKeysHaveNoInfluence) {
  manual_seed(2);
  const nn::LinformerSelfAttention attention(
      {.d_in = 3, .d_out = 4, .num_heads = 2, .context_length = 8, .projected = 3, .share_heads = false});
  const Tensor x = randn({3, 6, 3}), mask = padding(6);
  const Tensor other = where(mask.reshape({3, 6, 1}), x, 7.0);
  const auto rows = [](const Tensor& y) { return y[1].slice(0, 0, 3); };
  EXPECT_EQ(equal(rows(attention(x, mask)), rows(attention(other, mask))), true);
  Tensor weights;
  const Tensor y = attention(x, {.mask = mask, .weights = &weights});
  EXPECT_EQ(weights.shape(), (Shape{3, 2, 6, 6}));
  EXPECT_EQ(amax(abs(weights[2])).item(), 0);
  EXPECT_TRUE(equal(y[2], attention.output.bias->expand({6, 4}))) << "nothing to attend to: zeros";
  const Tensor v = attention.value(x).reshape({3, 6, 2, 2}).transpose(1, 2);
  expect_near(attention.output(matmul(weights, v).transpose(1, 2).reshape({3, 6, 4})), y);
}

TEST(Linformer, SharesProjectionsAsConfigured) {
  const auto names = [](bool share_kv, bool share_heads) {
    nn::LinformerSelfAttention attention({.d_in = 3,
                                          .d_out = 4,
                                          .num_heads = 2,
                                          .context_length = 8,
                                          .projected = 3,
                                          .share_kv = share_kv,
                                          .share_heads = share_heads});
    std::string text;
    for (const auto& [name, parameter] : nn::named_parameters(attention)) {
      if (name.size() == 1) text += name + str(parameter->shape()) + " ";
    }
    return text;
  };
  EXPECT_EQ(names(true, true), "E[3, 8] ");
  EXPECT_EQ(names(false, true), "E[3, 8] F[3, 8] ");
  EXPECT_EQ(names(false, false), "E[2, 3, 8] F[2, 3, 8] ");
}

TEST(Linformer, Errors) {
  using Config = nn::LinformerConfig;
  const auto with = [](auto change) {
    Config config{.d_in = 3, .d_out = 4, .num_heads = 2, .context_length = 5, .projected = 2};
    change(config);
    return error_of([&] { nn::LinformerSelfAttention attention(config); });
  };
  EXPECT_TEXT(with([](Config& c) { c.causal = true; }));
  EXPECT_EQ(with([](Config& c) { c.projected = 0; }), "[linformer_self_attention] expected projected > 0, got 0");
  EXPECT_TEXT(with([](Config& c) { c.context_length = -1; }));
  EXPECT_TEXT(with([](Config& c) { c.d_out = 5; }));
  EXPECT_EQ(with([](Config& c) { c.dropout = 2; }), "[linformer_self_attention] expected dropout in [0, 1], got 2");
  const nn::LinformerSelfAttention attention(
      {.d_in = 3, .d_out = 4, .num_heads = 2, .context_length = 5, .projected = 2});
  const Tensor x = ones({1, 4, 3});
  nn::KVCache cache;
  EXPECT_ERROR(attention(x, {.cache = &cache}));
  EXPECT_ERROR(attention(ones({1, 6, 3})));
  EXPECT_ERROR(attention(ones({4, 3})));
  EXPECT_ERROR(attention(x, nn::causal_mask(4)));
  EXPECT_ERROR(attention(x, zeros({1, 4})));
  const nn::PositionBias bias{.bias = nn::alibi_bias(2, 4, 4)};
  EXPECT_ERROR(attention(x, {.positions = &bias}));
  const Tensor q = ones({1, 2, 4, 2});
  EXPECT_ERROR(nn::linformer_attention(q, q, q, ones({3, 3}), ones({3, 4})));
  EXPECT_ERROR(nn::linformer_attention(q, q, q, ones({3, 4}), ones({3, 3, 4})));
}

}  // namespace
}  // namespace tapegrad
